package exhaustive_test

import (
	"testing"

	"github.com/interlock-sim/interlock/internal/search/exhaustive"
)

// A search with all reductions finds the defect of each trap, and is complete without a violation
// for the variant without the defect.
func TestExhaustiveFallsIntoNoTrap(t *testing.T) {
	for _, tr := range traps {
		t.Run(tr.name, func(t *testing.T) {
			search := &exhaustive.Search{Scenario: tr.scenario(t, true), FairSuffixes: tr.fair}
			switch report := search.Run(t.Context(), t); {
			case report.Nondeterministic != nil:
				t.Errorf("with the defect: %v", report.Nondeterministic)
			case report.Failure == nil:
				t.Errorf("with the defect: complete %v in %d schedules, nothing found",
					report.Complete, report.Schedules)
			case report.Failure.Violations[0].Property != tr.claims[0]:
				t.Errorf("with the defect: found %v, want %s", report.Failure.Violations[0],
					tr.claims[0])
			}
			search = &exhaustive.Search{Scenario: tr.scenario(t, false), FairSuffixes: tr.fair}
			switch report := search.Run(t.Context(), t); {
			case report.Nondeterministic != nil:
				t.Errorf("without the defect: %v", report.Nondeterministic)
			case report.Failure != nil:
				t.Errorf("without the defect: found %v", report.Failure.Violations)
			case !report.Complete:
				t.Errorf("without the defect: not complete in %d schedules", report.Schedules)
			}
		})
	}
}
