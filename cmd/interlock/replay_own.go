package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/internal/base/file"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/scenarios"
)

// A replayingTest is a test that replays a counterexample of a user's own lock.
type replayingTest interface {
	command() string // of the shell
	replay(ctx context.Context, stdout, stderr io.Writer) error
	// explore explores from the counterexample on. Schedules are saved below out; if that is
	// empty, where they usually are.
	explore(ctx context.Context, out string, stderr io.Writer) (*explored, error)
}

// An ownLock is a [replayingTest] that go test runs.
type ownLock struct {
	test      *recording.GoTest
	path      string   // of the counterexample
	packaged  string   // the directory of the test's package
	scheduled bool     // the schedule decides the order of goroutines
	flags     []string // of go test, for that
}

// newOwnLock reads how the counterexample at the path is replayed. It returns an error if that is
// not recorded.
func newOwnLock(path string) (*ownLock, error) {
	test, err := recording.ReadGoTest(path)
	if err != nil {
		return nil, err
	}
	packaged, err := test.Package(path)
	if err != nil {
		return nil, err
	}
	return &ownLock{test: test, path: path, packaged: packaged}, nil
}

// A notBundled is the error for a recording of a lock that is not bundled.
type notBundled struct {
	path      string
	recording *recording.Recording
	unknown   error // says which locks are bundled
}

// Error implements error.
func (n *notBundled) Error() string {
	return fmt.Sprintf("%s: %v; a lock of your own is replayed by the test that found it: see %q "+
		"in report.json", n.path, n.unknown, "replay")
}

// isCounterexample reports whether the path is that of a directory, and not only of a schedule.
func (n *notBundled) isCounterexample() bool {
	info, err := os.Stat(n.path)
	return err == nil && info.IsDir()
}

// test returns the test that replays the counterexample.
func (n *notBundled) test(ctx context.Context) (replayingTest, error) {
	if !n.isCounterexample() {
		return nil, n
	}
	own, err := newOwnLock(n.path)
	if errors.Is(err, recording.ErrBuilt) {
		return newBuiltLock(ctx, n.path)
	}
	if err != nil {
		return nil, fmt.Errorf("no bundled lock %q: %w", n.recording.Lock, err)
	}
	own.scheduled = n.recording.Scheduler
	return own, nil
}

// replay runs the test that replays the counterexample, or shows what is recorded.
func (n *notBundled) replay(ctx context.Context, f *replayFlags, stdout, stderr io.Writer) error {
	switch {
	case f.run:
		test, err := n.test(ctx)
		if err != nil {
			return err
		}
		return test.replay(ctx, stdout, stderr)
	case !n.isCounterexample():
		return n
	case f.timesGiven:
		return errors.New("--times has no effect on a recording that is only shown; " +
			"--run runs the test of the lock")
	}
	return n.show(ctx, f, stdout, stderr)
}

// show prints what is recorded of the counterexample, and the command that replays it.
func (n *notBundled) show(ctx context.Context, f *replayFlags, stdout, stderr io.Writer) error {
	explained, err := n.recording.ReadReport(n.path)
	if err != nil {
		return fmt.Errorf("no bundled lock %q: %w", n.recording.Lock, err)
	}
	defer ignorePipe()()
	text, reportOut, err := file.OpenJSON(f.json, stdout, stderr)
	if err != nil {
		return err
	}
	var outcome error
	if n.recording.Violates() {
		outcome = exit.With(exit.Violation, nil)
	}
	scenario := n.recording.Of(scenarios.Subject{Name: n.recording.Lock})
	r := &replayer{
		path: n.path, recording: n.recording, scenario: &scenario, explained: explained,
	}
	err = reportOut.Write(func(w io.Writer) error { return file.EncodeJSON(w, r.report(outcome)) })
	if err != nil {
		return exit.With(exit.Internal, fmt.Errorf("writing the report: %w", err))
	}
	fmt.Fprintf(text, "recorded, nothing was run: %s\n", explained.Title)
	if err := n.write(ctx, text, explained, f.full); unwritable(err) {
		return exit.With(exit.Internal, err)
	}
	return outcome
}

// write prints a recorded report, and how to replay the counterexample.
func (n *notBundled) write(ctx context.Context, w io.Writer, explained *explain.Report,
	full bool,
) error {
	fitTerminal(explained, w)
	for _, why := range explained.Whys {
		fmt.Fprintln(w)
		explained.Why(w, why)
	}
	fmt.Fprintln(w)
	if err := writeTimeline(w, explained, full); err != nil {
		return err
	}
	if err := explained.WriteLikelihood(w); err != nil {
		return err
	}
	test, err := n.test(ctx)
	if err != nil {
		_, err = fmt.Fprintf(w, "\n%v\n", err)
		return err
	}
	_, err = fmt.Fprintf(w, "\nrun it with --run, or by: %s\n", test.command())
	return err
}

// command returns the shell command that replays the counterexample.
func (o *ownLock) command() string {
	command := o.test.Command()
	if o.scheduled {
		command = `GOFLAGS="$(interlock scheduler)" ` + command
	}
	return recording.In(o.packaged, command)
}

// prepare gets what goTest needs for a schedule that decides the order of goroutines.
func (o *ownLock) prepare(ctx context.Context) (err error) {
	if o.scheduled {
		o.flags, err = schedulerFlags(ctx)
	}
	return err
}

// goTest returns the go command that runs the test, with further flags.
func (o *ownLock) goTest(ctx context.Context, flags ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go",
		o.test.Arguments(slices.Concat(o.flags, flags)...)...)
	command.Dir = o.packaged
	command.Env = append(os.Environ(), o.test.Environment())
	return command
}

// replay runs the test that replays the counterexample.
func (o *ownLock) replay(ctx context.Context, stdout, stderr io.Writer) error {
	if err := o.prepare(ctx); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "running %s\n", o.command())
	var printed bytes.Buffer
	command := o.goTest(ctx)
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
