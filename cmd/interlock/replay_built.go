package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mattn/go-shellwords"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/internal/show/recording"
)

// A builtLock is a test that replays a counterexample of a user's own lock, as interlock test
// builds it.
type builtLock struct {
	flags     *testFlags
	directory string // of the test's package
}

// newBuiltLock reads how the counterexample at the path is replayed. Of the recorded command only
// flags that add no code count, and the package is one of the current directory's module: the
// counterexample may come from someone else.
func newBuiltLock(ctx context.Context, path string) (*builtLock, error) {
	test, packaged, err := recording.BuiltTest(path)
	if err != nil {
		return nil, err
	}
	elsewhere := func(err error) error {
		return fmt.Errorf("%s: found by interlock test; %w: replay it with: interlock test %s "+
			"--run %s --replay %s, and the other flags of its report.json", path, err,
			shellQuote(packaged), shellQuote(recording.Pattern(test.Name)), shellQuote(path))
	}
	flags, err := recordedFlags(test.By)
	if err != nil {
		return nil, elsewhere(err)
	}
	directory, err := directoryOf(ctx, packaged)
	if err == nil && broughtAlong(directory, path) {
		err = errors.New("its package could have come with it")
	}
	if err != nil {
		return nil, elsewhere(err)
	}
	flags.run, flags.replay = recording.Pattern(test.Name), path
	return &builtLock{flags, directory}, nil
}

// recordedFlags returns the flags of a recorded command of interlock test.
func recordedFlags(command string) (*testFlags, error) {
	words, err := shellwords.Parse(command)
	at := slices.Index(words, "test")
	if err != nil || at < 0 {
		return nil, errors.New("its command is not that of interlock test")
	}
	f, defaults := new(testFlags), new(cobra.Command)
	f.define(defaults.Flags())
	f.reportFlags.define(defaults)
	build := pflag.NewFlagSet("", pflag.ContinueOnError)
	build.Usage = func() {}
	f.defineBuild(build)
	if err := build.Parse(words[at+1:]); err != nil {
		return nil, fmt.Errorf("its command has an %w", err)
	}
	for _, flag := range []string{"glue", "interlock"} {
		if build.Changed(flag) {
			return nil, fmt.Errorf("its --%s names code from elsewhere", flag)
		}
	}
	return f, nil
}

// directoryOf returns the directory of the package with an import path, which must be in the module
// of the current directory, or in its workspace.
func directoryOf(ctx context.Context, packaged string) (string, error) {
	listed, err := exec.CommandContext(ctx, "go", "list", "-e", "-find", "-f",
		"{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}", "--", packaged).Output()
	directory := strings.TrimSpace(string(listed))
	if err != nil || directory == "" || strings.Contains(directory, "\n") {
		return "", fmt.Errorf("the module of the current directory has no package %s", packaged)
	}
	here, err := filepath.Abs(".")
	if err != nil {
		return "", err
	}
	if below, err := filepath.Rel(here, directory); err == nil && filepath.IsLocal(below) {
		return below, nil
	}
	return directory, nil
}

// broughtAlong reports whether a package may be a part of the counterexample at a path, which may
// come from someone else: the package is in the directory of the counterexample, or in one of test
// data, where counterexamples usually are.
func broughtAlong(directory, path string) bool {
	packaged, err := filepath.Abs(directory)
	if err != nil {
		return true
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return true
	}
	below, err := filepath.Rel(absolute, packaged)
	return err == nil && filepath.IsLocal(below) ||
		slices.Contains(strings.Split(filepath.ToSlash(packaged), "/"), "testdata")
}

// command returns the shell command that replays the counterexample.
func (b *builtLock) command() string {
	return fmt.Sprintf("%s --run %s --replay %s", b.flags.command(localPath(b.directory)),
		shellQuote(b.flags.run), shellQuote(b.flags.replay))
}

// replay runs the test that replays the counterexample.
func (b *builtLock) replay(ctx context.Context, stdout, stderr io.Writer) error {
	if _, err := fmt.Fprintf(stdout, "running %s\n", b.command()); unwritable(err) {
		return exit.With(exit.Internal, err)
	}
	return b.flags.runTest(ctx, localPath(b.directory), stdout, stderr)
}

// explore explores from the counterexample on in the test that replays it.
func (b *builtLock) explore(ctx context.Context, out string, stderr io.Writer) (*explored, error) {
	if out != "" {
		b.flags.out = out
	}
	return b.flags.exploreBuilt(ctx, localPath(b.directory), stderr)
}
