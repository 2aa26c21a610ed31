package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// An errorWriter remembers what went wrong first when something was printed.
type errorWriter struct {
	w   io.Writer
	err error
}

// Write writes.
func (o *errorWriter) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// openOutputs returns where text goes, and the report as JSON. A counterexample or a report that cannot
// be written must not cost a campaign, so that is found out first.
func (f *checkFlags) openOutputs(stdout, stderr io.Writer) (text io.Writer, report io.WriteCloser,
	err error,
) {
	if err := checkWritable(f.out); err != nil {
		return nil, nil, fmt.Errorf("--out: %w", err)
	}
	return openReport(f.json, stdout, stderr)
}

// errNoReport is what is wrong where --json names nothing.
var errNoReport = errors.New("--json needs the name of a file, or - for standard output")

// openReport returns where text goes, and the report as JSON, which --json names.
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

// checkWritable returns what keeps directories from being made below one, or below the nearest above
// it that there is.
func checkWritable(directory string) error {
	info, err := os.Stat(directory)
	if above := filepath.Dir(directory); errors.Is(err, fs.ErrNotExist) && above != directory {
		return checkWritable(above)
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

// A nopCloser is a writer that is not closed.
type nopCloser struct{ io.Writer }

// Close does nothing.
func (nopCloser) Close() error { return nil }
