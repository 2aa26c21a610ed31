package recording_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/show/recording"
)

// The report of a counterexample, here of an election, is read as it was written. A history of
// another run is refused.
func TestReadReport(t *testing.T) {
	c := counterexample(t, engine.NewRunner(t))
	c.Scenario.Subject.Claims = []history.Property{history.OneLeaderPerTerm}
	directory, err := c.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := recording.Read(directory)
	if err != nil {
		t.Fatal(err)
	}
	read, err := recorded.ReadReport(directory)
	if err != nil {
		t.Fatal(err)
	}
	got, want := read.Describe(), c.Explain().Describe()
	if got != want || !strings.Contains(got, "runs for leader") || read.Title != c.Scenario.String() {
		t.Errorf("%s\n%s\nwant %s", read.Title, got, want)
	}
	trace := filepath.Join(directory, "trace.jsonl")
	content, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	shorter := content[:bytes.LastIndexByte(bytes.TrimSpace(content), '\n')+1]
	if err := os.WriteFile(trace, shorter, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := recorded.ReadReport(directory); err == nil ||
		!strings.Contains(err.Error(), "is not the history of the schedule") {
		t.Errorf("error %v for a shorter history", err)
	}
}
