package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
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
	flags.StringVar(&f.json, "json", "", jsonUsage)
	flags.StringVar(&f.junit, "junit", "", "`file` for the report as JUnit XML")
	flags.StringVar(&f.sarif, "sarif", "", "`file` for the report as SARIF 2.1.0")
	flags.StringVar(&f.out, "out", "interlock-failures", "`directory` for counterexamples")
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
		return errNoReport
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

// outputs are the files of the reports. Those not asked for are nil.
type outputs struct{ json, junit, sarif io.WriteCloser }

// openOutputs returns the writers of the text and of the reports. It fails before the campaign
// starts if a report or a counterexample could not be written at its end.
func (f *reportFlags) openOutputs(stdout, stderr io.Writer) (text io.Writer, files *outputs,
	err error,
) {
	if err := checkWritable(f.out); err != nil {
		return nil, nil, fmt.Errorf("--out: %w", err)
	}
	opened := new(outputs)
	defer func() {
		if err != nil {
			opened.close()
		}
	}()
	if text, opened.json, err = openReport(f.json, stdout, stderr); err != nil {
		return nil, nil, err
	}
	for _, file := range []struct {
		flag, path string
		to         *io.WriteCloser
	}{{"--junit", f.junit, &opened.junit}, {"--sarif", f.sarif, &opened.sarif}} {
		if file.path == "" {
			continue
		}
		created, err := os.Create(file.path)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file.flag, err)
		}
		*file.to = created
	}
	return text, opened, nil
}

// write writes a report, unless it is not asked for, and closes its file.
func (o *outputs) write(to io.WriteCloser, encode func(io.Writer) error) error {
	if to == nil {
		return nil
	}
	if err := encode(to); err != nil {
		return err
	}
	return to.Close()
}

// close closes the files that are still open.
func (o *outputs) close() {
	for _, file := range []io.WriteCloser{o.json, o.junit, o.sarif} {
		if file != nil {
			file.Close()
		}
	}
}

// jsonUsage is the help of the flag --json of commands that write a report to a file.
const jsonUsage = "`file` for the JSON report, - for standard output"

// errNoReport refuses an empty --json.
var errNoReport = errors.New("--json needs a file, or - for standard output")

// openReport returns the writers of the text and of the JSON report, where path is the value of
// --json: empty for no report, - for a report on standard output and the text on standard error.
func openReport(path string, stdout, stderr io.Writer) (text io.Writer, report io.WriteCloser,
	err error,
) {
	switch path {
	case "":
		return stdout, nopCloser{io.Discard}, nil
	case "-":
		return stderr, nopCloser{stdout}, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, nil, fmt.Errorf("--json: %w", err)
	}
	return stdout, file, nil
}

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

// A nopCloser is a writer whose Close does nothing.
type nopCloser struct{ io.Writer }

// Close implements io.Closer.
func (nopCloser) Close() error { return nil }
