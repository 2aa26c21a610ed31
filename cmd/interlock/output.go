package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/cmd/internal/judge"
	"github.com/interlock-sim/interlock/internal/base/file"
)

// An errorWriter remembers the first error of its writer.
type errorWriter struct {
	w   io.Writer
	err error
}

// Write implements io.Writer.
func (o *errorWriter) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// ignorePipe lets a write to a closed pipe fail, instead of ending the program, until the returned
// function is called: reports are written even if the reader of the text has gone.
func ignorePipe() (restore func()) {
	signal.Ignore(syscall.SIGPIPE)
	return func() { signal.Reset(syscall.SIGPIPE) }
}

// unwritable reports whether a text could not be written. A closed pipe is no error: its reader
// chose to stop.
func unwritable(err error) bool { return err != nil && !errors.Is(err, syscall.EPIPE) }

// reportFlags are the flags of commands that report what a search has found: check and merge.
type reportFlags struct {
	json, junit, sarif, out string
	quiet                   bool
}

// define defines the flags.
func (f *reportFlags) define(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&f.json, "json", "", file.JSONUsage)
	flags.StringVar(&f.junit, "junit", "", "`file` for the report as JUnit XML")
	flags.StringVar(&f.sarif, "sarif", "", "`file` for the report as SARIF 2.1.0")
	flags.StringVar(&f.out, "out", defaultOut, "`directory` for counterexamples")
	flags.BoolVar(&f.quiet, "quiet", false, "print no progress")
}

// progressTo returns the writer for the progress.
func (f *reportFlags) progressTo(stderr io.Writer) io.Writer {
	if f.quiet {
		return io.Discard
	}
	return stderr
}

// validate returns an error that names a wrong flag, or nil.
func (f *reportFlags) validate(given func(string) bool) error {
	switch {
	case given("json") && f.json == "":
		return file.ErrNoJSON
	case given("junit") && (f.junit == "" || f.junit == "-"):
		return errors.New("--junit needs a file")
	case given("sarif") && (f.sarif == "" || f.sarif == "-"):
		return errors.New("--sarif needs a file")
	case f.junit != "" && (f.junit == f.json || f.junit == f.sarif),
		f.sarif != "" && f.sarif == f.json:
		return errors.New("--json, --junit and --sarif need different files")
	case f.out == "":
		return errors.New("--out needs a directory")
	}
	return nil
}

// outputs are where a command reports what a search has found.
type outputs struct {
	text, warnings     io.Writer
	json, junit, sarif file.Report
	out                string // directory for counterexamples
	progress           *judge.Progress
}

// openOutputs returns where the reports go. It fails before the search starts if a report or a
// counterexample could not be written at its end.
func (f *reportFlags) openOutputs(stdout, stderr io.Writer) (o *outputs, err error) {
	if err := checkWritable(f.out); err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	o = &outputs{
		warnings: stderr, out: f.out, progress: judge.NewProgress(f.progressTo(stderr)),
	}
	if o.text, o.json, err = file.OpenJSON(f.json, stdout, stderr); err != nil {
		return nil, err
	}
	if o.junit, err = file.OpenReport("--junit", f.junit, nil); err != nil {
		return nil, err
	}
	o.sarif, err = file.OpenReport("--sarif", f.sarif, nil)
	return o, err
}

// defaultOut is the directory for counterexamples unless the user names another.
const defaultOut = "interlock-failures"

// checkWritable returns an error if no directory can be made in the given directory or, if that
// does not exist, in its nearest existing parent.
func checkWritable(directory string) error {
	existing := directory
	info, err := os.Stat(existing)
	for errors.Is(err, fs.ErrNotExist) && filepath.Dir(existing) != existing {
		existing = filepath.Dir(existing)
		info, err = os.Stat(existing)
	}
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", existing)
	}
	if err != nil {
		return err
	}
	trial, err := os.MkdirTemp(existing, ".interlock-")
	if err == nil {
		return os.Remove(trial)
	}
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		err = failed.Err // without the path, which the user has not named
	}
	if existing != directory {
		return fmt.Errorf("%s cannot be made in %s: %w", directory, existing, err)
	}
	return fmt.Errorf("nothing can be made in %s: %w", directory, err)
}
