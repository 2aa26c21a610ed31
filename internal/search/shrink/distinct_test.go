package shrink_test

import (
	"context"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/shrink"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
)

// Each distinct failure has one counterexample, which shows it. If the context has ended, the
// schedules are recorded as they were found.
func TestDistinct(t *testing.T) {
	for lock, groups := range map[string]int{"name-order": 3, "leak-on-error": 2} {
		t.Run(lock, func(t *testing.T) { testDistinct(t, lock, groups) })
	}
}

func testDistinct(t *testing.T, lock string, want int) {
	c := &campaign.Campaign{
		Scenario: *locktest.Scenario(locktest.Named(t, lock), 3, 2, 2), Seed: 1, Schedules: 1000,
		KeepGoing: true,
	}
	r := c.Run(context.Background(), t)
	if len(r.Distinct) < 2 {
		t.Fatalf("%d distinct failures", len(r.Distinct))
	}
	over, end := context.WithCancel(context.Background())
	end()
	for _, ctx := range []context.Context{context.Background(), over} {
		var begun, groups []int // indexes of failures: begun, and first in a group
		var shown []string
		for group := range shrink.Distinct(ctx, t, c, r, func(i int) { begun = append(begun, i) }) {
			if group.Err != nil {
				t.Fatal(group.Err)
			}
			first := group.Failures[0]
			groups = append(groups, slices.IndexFunc(r.Distinct,
				func(d report.DistinctFailure) bool { return d.Signature == first.Signature }))
			short := group.Counterexample
			if short.Recording.Signature != first.Signature ||
				short.Recording.Schedule != first.First.Schedule {
				t.Errorf("%+v is of %+v", short.Recording, first)
			}
			if found := slices.Equal(short.Recording.Deviations, first.First.Deviations); found !=
				(ctx == over) {
				t.Errorf("%s: recorded as found: %v", first.Signature, found)
			}
			again := engine.NewRunner(t).Run(&short.Scenario,
				&engine.Replay{Deviations: short.Recording.Deviations})
			for _, failure := range group.Failures {
				shown = append(shown, failure.Signature)
				if !slices.ContainsFunc(again.Violations, func(v *history.Violation) bool {
					return v.Signature() == failure.Signature
				}) {
					t.Errorf("the counterexample of %s does not show %s", first.Signature,
						failure.Signature)
				}
			}
		}
		if ctx != over && len(groups) != want {
			t.Errorf("%d counterexamples, want %d", len(groups), want)
		}
		if !slices.Equal(begun, groups) || !slices.IsSorted(groups) {
			t.Errorf("begun %v, groups of %v", begun, groups)
		}
		slices.Sort(shown)
		if len(shown) != len(r.Distinct) || len(slices.Compact(shown)) != len(shown) {
			t.Errorf("%d distinct failures, shown %q", len(r.Distinct), shown)
		}
	}
}
