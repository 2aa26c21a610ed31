package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// An output remembers what went wrong first when something was printed.
type output struct {
	w   io.Writer
	err error
}

// Write writes.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// outputs returns where text goes, and the report as JSON. A counterexample or a report that cannot
// be written must not cost a campaign, so that is found out first.
func (f *checkFlags) outputs(stdout, stderr io.Writer) (text io.Writer, report io.WriteCloser,
	err error,
) {
	if err := tryDirectory(f.out); err != nil {
		return nil, nil, fmt.Errorf("--out: %w", err)
	}
	return reportTo(f.json, stdout, stderr)
}

// errNoReport is what is wrong where --json names nothing.
var errNoReport = errors.New("--json needs the name of a file, or - for standard output")

// reportTo returns where text goes, and the report as JSON, which --json names.
func reportTo(path string, stdout, stderr io.Writer) (text io.Writer, report io.WriteCloser,
	err error,
) {
	switch path {
	case "":
		return stdout, keptOpen{io.Discard}, nil
	case "-":
		return stderr, keptOpen{stdout}, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, nil, fmt.Errorf("--json: %w", err)
	}
	return stdout, file, nil
}

// tryDirectory returns what keeps directories from being made below one, or below the nearest above
// it that there is.
func tryDirectory(directory string) error {
	info, err := os.Stat(directory)
	if above := filepath.Dir(directory); errors.Is(err, fs.ErrNotExist) && above != directory {
		return tryDirectory(above)
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

// A keptOpen is a writer that is not closed.
type keptOpen struct{ io.Writer }

// Close does nothing.
func (keptOpen) Close() error { return nil }
