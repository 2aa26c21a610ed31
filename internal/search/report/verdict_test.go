package report_test

import (
	"testing"

	"github.com/interlock-sim/interlock/internal/search/report"
)

// Each piece of evidence that is added to a verdict can only make it stronger.
func TestVerdict(t *testing.T) {
	var e report.Evidence
	for _, step := range []struct {
		add  func()
		want report.Verdict
	}{
		{func() {}, report.NotClaimed},
		{func() { e.Claimed = true }, report.NotSearched},
		{func() { e.Schedules = 1 }, report.NotExercised},
		{func() { e.Exercised = true }, report.Holds},
		{func() { e.Undecided = true }, report.Unknown},
		{func() { e.OutOfContract = true }, report.OutOfContract},
		{func() { e.Violated = true }, report.Violated},
	} {
		step.add()
		if got := e.Verdict(); got != step.want {
			t.Errorf("%+v: %s, want %s", e, got, step.want)
		}
	}
}
