package exhaustive_test

import (
	"context"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
)

// TestSearchThreads searches all schedules of a handle that two threads share: each defect is
// found, and the lock without it is correct in all schedules.
func TestSearchThreads(t *testing.T) {
	for _, tc := range []struct {
		name    string
		defect  locktest.ThreadDefect
		clients int
		cycles  int
		want    history.Property // "" if the search is complete
	}{
		{"threads queue in the process", locktest.NoThreadDefect, 1, 2, ""},
		{"threads of two processes", locktest.NoThreadDefect, 2, 1, ""},
		{"threads share a counter", locktest.SharedCounter, 1, 1, history.ClientMutualExclusion},
		{"threads share a node", locktest.SharedNode, 1, 1, history.NoLeakedNodes},
		{"threads of two share a node", locktest.SharedNode, 2, 1, history.NoLeakedNodes},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			search := &exhaustive.Search{
				Scenario: scenarios.Scenario{
					Subject: locktest.Handle(tc.defect),
					Clients: tc.clients, Cycles: tc.cycles, Threads: 2,
				},
				MemoryLimit: exhaustive.DefaultMemoryLimit(),
				Schedules:   long.Count(1000, 0),
			}
			r := search.Run(context.Background(), t)
			switch {
			case tc.want == "" && (!r.Complete && r.Schedules != search.Schedules || r.Failure != nil):
				t.Errorf("complete: %v, failure: %+v", r.Complete, r.Failure)
			case tc.want == "":
				t.Logf("complete %v after %d schedules", r.Complete, r.Schedules)
			case r.Failure == nil:
				t.Errorf("nothing found in %d schedules", r.Schedules)
			case !slices.ContainsFunc(r.Failure.Violations,
				func(v *history.Violation) bool { return v.Property == tc.want }):
				t.Errorf("found %+v, want %s", r.Failure.Violations[0], tc.want)
			}
		})
	}
}
