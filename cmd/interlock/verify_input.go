package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/interlock-sim/interlock/cmd/internal/otlp"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/show/recording"
)

// A verifyInput is the histories that verify judges, with their names. Those of spans come last.
type verifyInput struct {
	logs     []*history.Log
	names    []string
	spans    bool
	torn     bool // the last line of one is incomplete
	warnings string
}

// readHistories reads the histories. It warns of a file that is empty, and of an incomplete last
// line, because a process may have died before it wrote more.
func readHistories(paths []string, stdin io.Reader, stderr io.Writer) (*verifyInput, error) {
	in, spans := new(verifyInput), new(otlp.Spans)
	for _, path := range paths {
		if err := in.read(path, stdin, spans); err != nil {
			return nil, err
		}
	}
	logs, names, incomplete := spans.Histories()
	in.logs, in.names = append(in.logs, logs...), append(in.names, names...)
	if incomplete > 0 {
		in.warnings += fmt.Sprintf("not judged, because the span of their attempt is missing: %s\n",
			counted(incomplete, "lease"))
	}
	events := 0
	for _, log := range in.logs {
		events += log.Len()
	}
	switch {
	case events == 0 && in.spans:
		return nil, fmt.Errorf("%s: no spans of lock/lockotel", strings.Join(paths, ", "))
	case events == 0:
		return nil, fmt.Errorf("%s: the history is empty", strings.Join(paths, ", "))
	}
	_, err := io.WriteString(stderr, in.warnings)
	return in, err
}

// read reads a file or standard input: a history, or spans.
func (in *verifyInput) read(path string, stdin io.Reader, spans *otlp.Spans) error {
	name, reader := "standard input", stdin
	if info, err := os.Stat(path); path != "-" && err == nil && info.IsDir() {
		path = filepath.Join(path, traceName)
	}
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, errors.Unwrap(err))
		}
		defer file.Close()
		name, reader = path, file
	}
	buffered, err := bufio.NewReader(reader), error(nil)
	if otlp.IsJSON(buffered) {
		in.spans = true
		err = spans.Read(buffered)
	} else {
		var log *history.Log
		if log, err = history.Read(buffered); log != nil {
			in.logs, in.names = append(in.logs, log), append(in.names, path)
			if log.Len() == 0 && err == nil {
				in.warnings += fmt.Sprintf("%s: the history is empty; it is left out\n", name)
			}
		}
	}
	switch {
	case errors.Is(err, history.ErrTorn):
		in.torn = true
		in.warnings += fmt.Sprintf("%s: %v; it is left out\n", name, err)
	case err != nil:
		return fmt.Errorf("%s: %w%s", name, err, traceBeside(path))
	case filepath.Base(path) == traceName && len(in.logs) > 0:
		return checkTrace(path, in.logs[len(in.logs)-1])
	}
	return nil
}

// checkTrace returns an error if the history of a counterexample is not that of its schedule.
func checkTrace(path string, log *history.Log) error {
	recorded, err := recording.Read(filepath.Join(filepath.Dir(path), "schedule.json"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // A history need not have a schedule beside it.
	case err != nil:
		return err
	case recorded.TraceHash != engine.TraceHash(log.Hash()):
		return fmt.Errorf("%s: damaged or edited: its trace hash is %016x, and schedule.json says "+
			"%v", path, log.Hash(), recorded.TraceHash)
	}
	return nil
}

// traceName is the name of the history in the directory of a counterexample.
const traceName = "trace.jsonl"

// traceBeside says where the history is if the path is that of another file of a counterexample.
func traceBeside(path string) string {
	trace := filepath.Join(filepath.Dir(path), traceName)
	if _, err := os.Stat(trace); err != nil || path == "-" || filepath.Base(path) == traceName {
		return ""
	}
	return "; the history of the counterexample is " + trace
}
