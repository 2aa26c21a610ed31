package subjects_test

import (
	"context"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// All schedules of an election and of the barriers keep their properties, in the smallest
// configuration in which two processes meet; in a long run, also with one fault.
func TestRecipesExhaustively(t *testing.T) {
	plans := []faults.Plan{{}}
	if long.Enabled() {
		plans = append(plans, faults.Of(faults.Any, 1))
	}
	for _, subject := range []scenarios.Subject{
		subjects.Election(), subjects.DoubleBarrier(), subjects.Barrier(),
	} {
		for _, plan := range plans {
			search := exhaustive.Search{Scenario: scenarios.Scenario{
				Subject: subject, Clients: 2, Cycles: 1, Faults: plan,
			}}
			var found []*history.Violation
			search.Each = func(r *engine.Result) { found = append(found, r.Violations...) }
			r := search.Run(context.Background(), t)
			if !r.Complete || r.Nondeterministic != nil || len(found) > 0 {
				t.Errorf("%s, faults %v: complete %v, %v, violations %v", subject.Name, plan,
					r.Complete, r.Nondeterministic, found)
			}
		}
	}
}
