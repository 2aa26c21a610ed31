package scenarios

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/interlock-sim/interlock/internal/engine"
	"github.com/interlock-sim/interlock/internal/recording"
	"github.com/interlock-sim/interlock/internal/report"
)

// A verdict tells interlock test the outcome of a [Check].
type verdict struct {
	recording.Verdict
	path string // "" unless interlock test runs the program
}

// newVerdict returns a verdict for a test that ends before it has an outcome.
func newVerdict(t *testing.T, scenario *engine.Scenario) *verdict {
	return &verdict{recording.Verdict{
		Test: t.Name(), Lock: scenario.Subject.Name, Scenario: scenario.String(),
		Outcome: recording.Unsound,
	}, os.Getenv(recording.VerdictsVariable)}
}

// ran notes what a search has run.
func (v *verdict) ran(seed uint64, r *report.Runs) {
	v.Seed, v.Schedules, v.Steps = seed, r.Schedules, r.Steps
}

// failed notes a failure.
func (v *verdict) failed(signature, counterexample, replay string) {
	v.Outcome = recording.Violation
	v.Failures = append(v.Failures, recording.Failure{
		Signature: signature, Counterexample: counterexample, Replay: replay,
	})
}

// write appends the verdict to the file of interlock test, if there is one.
func (v *verdict) write(t *testing.T) {
	t.Helper()
	if v.path == "" {
		return
	}
	line, err := json.Marshal(v.Verdict)
	if err == nil {
		err = appendTo(v.path, append(line, '\n'))
	}
	if err != nil {
		t.Error(err)
	}
}

// appendTo appends to a file, which other processes may do too.
func appendTo(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := file.Write(content); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}
