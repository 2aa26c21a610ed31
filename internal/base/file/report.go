package file

import (
	"errors"
	"fmt"
	"io"
)

// A Report is where a report goes. A file is replaced when the report is whole.
type Report struct {
	path   string    // of the file; "" if the report is not asked for, or goes to stdout
	stdout io.Writer // nil unless the report goes there
}

// OpenReport returns where the report of a flag goes: nowhere if the path is empty, to stdout if it
// is -, unless stdout is nil. An error says that the file cannot be written.
func OpenReport(flag, path string, stdout io.Writer) (Report, error) {
	switch {
	case path == "":
		return Report{}, nil
	case path == "-" && stdout != nil:
		return Report{stdout: stdout}, nil
	}
	if err := Check(path); err != nil {
		return Report{}, fmt.Errorf("%s: %w", flag, err)
	}
	return Report{path: path}, nil
}

// Write writes the report, unless it is not asked for.
func (r Report) Write(encode func(io.Writer) error) error {
	switch {
	case r.stdout != nil:
		return encode(r.stdout)
	case r.path != "":
		return Write(r.path, encode)
	}
	return nil
}

// WriteJSON writes the value as JSON, unless the report is not asked for.
func (r Report) WriteJSON(value any) error {
	return r.Write(func(w io.Writer) error { return EncodeJSON(w, value) })
}

// JSONUsage is the help of the flag --json of commands that write a report to a file.
const JSONUsage = "`file` for the JSON report, - for standard output"

// ErrNoJSON refuses an empty --json.
var ErrNoJSON = errors.New("--json needs a file, or - for standard output")

// OpenJSON returns the writer of the text, and where the JSON report goes: path is the value of
// --json. The text goes to stderr if the report goes to stdout.
func OpenJSON(path string, stdout, stderr io.Writer) (text io.Writer, report Report, err error) {
	if report, err = OpenReport("--json", path, stdout); path == "-" {
		return stderr, report, err
	}
	return stdout, report, err
}
