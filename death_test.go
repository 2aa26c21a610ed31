package interlock

import (
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/scenarios"
)

// The report of a deadly schedule that no child could write names the scenario, the seed and the
// schedule, and how to find it again.
func TestDescribeUnshrunk(t *testing.T) {
	p := &parent{scenario: &scenarios.Scenario{
		Subject: scenarios.Subject{Name: "own"}, Clients: 2, Cycles: 1,
	}}
	run := &deadlyRun{
		Searched: true, Often: "in 3 of 3 runs", Signature: "no-panic: it died",
		Recording: recording.Recording{Seed: 7, Schedule: 12},
		Again:     searchCommand("TestOwn", 7, 12),
	}
	text := p.describeUnshrunk(run, "the child process ended")
	for _, want := range []string{
		"own, 2 clients × 1 cycles, ", ", seed 7: schedule 12 ends the program (in 3 of 3 runs), " +
			"under the default policy\n", "\nno-panic: it died\nthe counterexample could not be " +
			"written: the child process ended\nreplay INTERLOCK_SEED=7 INTERLOCK_SCHEDULES=13 ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not contain %q:\n%s", want, text)
		}
	}
	run.Replays = "testdata/x"
	if text := p.describeUnshrunk(run, ""); text !=
		"testdata/x fails (in 3 of 3 runs):\nno-panic: it died" {
		t.Errorf("the report of a replay:\n%s", text)
	}
}
