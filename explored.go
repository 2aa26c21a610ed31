package interlock

import (
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/show/explore"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/scenarios"
)

// serves reports that a call of this process serves the explorer, or has done so.
var serves atomic.Bool

// explored reports whether this process is there to serve interlock explore, or interlock replay
// --step, and not to search. The call that is explored serves them, and then skips the test: that
// of the recorded test and lock or, if nothing is recorded, the first one.
func explored(t *testing.T, scenario *scenarios.Scenario) bool {
	t.Helper()
	address := os.Getenv(recording.ExploreVariable)
	if address == "" {
		return false
	}
	if path := os.Getenv(replayVariable); path != "" {
		test, _, err := recording.TestOf(path)
		if err != nil {
			t.Fatal(err)
		}
		if test != t.Name() || !records(t, path, scenario) {
			return true
		}
		stored, err := recording.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		if scenario, err = stored.Scenario(scenario.Subject); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	if serves.Swap(true) {
		return true
	}
	connection, err := net.Dial("unix", address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	runs := explore.NewLocal(engine.NewRunner(t), *scenario, writeExplored(t))
	if err := explore.Serve(t.Context(), connection, runs); err != nil {
		t.Fatal(err)
	}
	t.Skip("interlock explore has ended") // Nothing was judged: neither pass nor fail is true.
	return true
}

// writeExplored returns the function that writes an explored schedule as a counterexample of the
// test. Its path and command are valid in any directory.
func writeExplored(t *testing.T) explore.Write {
	return func(c *recording.Counterexample) (directory, replay string, err error) {
		if directory, replay, err = writeCounterexample(t, c, new(verdict)); err != nil {
			return "", "", err
		}
		packaged, err := os.Getwd()
		if err != nil {
			return "", "", err
		}
		if c.By == "" {
			replay = recording.In(packaged, replay)
		}
		if !filepath.IsAbs(directory) {
			directory = filepath.Join(packaged, directory)
		}
		return directory, replay, nil
	}
}
