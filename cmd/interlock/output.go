package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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

// openOutputs returns the writers of the text and of the JSON report. It fails before the campaign
// starts if the report or a counterexample could not be written at its end.
func (f *checkFlags) openOutputs(stdout, stderr io.Writer) (text io.Writer, report io.WriteCloser,
	err error,
) {
	if err := checkWritable(f.out); err != nil {
		return nil, nil, fmt.Errorf("--out: %w", err)
	}
	return openReport(f.json, stdout, stderr)
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
	info, err := os.Stat(directory)
	if parent := filepath.Dir(directory); errors.Is(err, fs.ErrNotExist) && parent != directory {
		return checkWritable(parent)
	}
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", directory)
	}
	if err != nil {
		return err
	}
	trial, err := os.MkdirTemp(directory, ".interlock-")
	if err != nil {
		return err
	}
	return os.Remove(trial)
}

// A nopCloser is a writer whose Close does nothing.
type nopCloser struct{ io.Writer }

// Close implements io.Closer.
func (nopCloser) Close() error { return nil }
