package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/internal/show/recording"
)

// An ownLock is a counterexample of a user's own lock, which only the user's test can replay. As an
// error it says how.
type ownLock struct {
	path     string
	lock     string
	test     *recording.GoTest
	packaged string // the directory of the test's package
}

// newOwnLock reads how the counterexample at the path is replayed. It returns an error if that is
// not recorded.
func newOwnLock(path, lock string) (*ownLock, error) {
	test, err := recording.ReadGoTest(path)
	if err != nil {
		return nil, err
	}
	packaged, err := test.Package(path)
	if err != nil {
		return nil, err
	}
	return &ownLock{path, lock, test, packaged}, nil
}

// notBundled returns the error for a recording of a lock that is not bundled: an [ownLock] if a
// test can replay it. The error unknown says which locks are bundled.
func notBundled(path, lock string, unknown error) error {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return fmt.Errorf("%s: %w; a lock of your own is replayed by the test that found "+
			"it: see %q in report.json", path, unknown, "replay")
	}
	own, err := newOwnLock(path, lock)
	if err != nil {
		return fmt.Errorf("%s: no bundled lock %q, and no test: %w", path, lock, err)
	}
	return own
}

// command returns the shell command that replays the counterexample.
func (o *ownLock) command() string {
	return "cd " + shellQuote(o.packaged) + " && " + o.test.Command()
}

// Error implements error.
func (o *ownLock) Error() string {
	return fmt.Sprintf("%s: only its test can replay the lock %q: run it with --run, or by: %s",
		o.path, o.lock, o.command())
}

// withoutSteps returns the error of a flag that needs the code of the lock in this program, where
// that is an [ownLock].
func withoutSteps(err error, flag string) error {
	if own := (*ownLock)(nil); errors.As(err, &own) {
		return fmt.Errorf("%s: %s is for bundled locks only; the test of the lock %q replays it "+
			"by: %s", own.path, flag, own.lock, own.command())
	}
	return err
}

// runOwn runs the test that replays the counterexample.
func (o *ownLock) runOwn(ctx context.Context, stdout, stderr io.Writer) error {
	fmt.Fprintf(stdout, "running %s\n", o.command())
	var printed bytes.Buffer
	command := exec.CommandContext(ctx, "go", o.test.Arguments()...)
	command.Dir = o.packaged
	command.Env = append(os.Environ(), o.test.Environment())
	command.Stdout, command.Stderr = io.MultiWriter(stdout, &printed), stderr
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 5 * time.Second
	err := command.Run()
	var failed *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return exit.With(exit.Interrupted, errors.New("interrupted"))
	case err != nil && !errors.As(err, &failed):
		return fmt.Errorf("--run: %w", err)
	case strings.Contains(printed.String(), "[build failed]"),
		strings.Contains(printed.String(), "[setup failed]"):
		return fmt.Errorf("--run: the package in %s does not build", o.packaged)
	case err == nil && strings.Contains(printed.String(), "[no tests to run]"):
		return fmt.Errorf("--run: the package in %s has no test %s any more", o.packaged,
			o.test.Name)
	case err != nil:
		return exit.With(exit.Violation, nil)
	}
	return nil
}

// validateRun returns an error if a flag of replay has no effect on a test.
func (f *replayFlags) validateRun(cmd *cobra.Command) error {
	for _, flag := range []string{"full", "times", "json"} {
		if f.run && cmd.Flags().Changed(flag) {
			return fmt.Errorf("--run cannot be combined with --%s", flag)
		}
	}
	return nil
}
