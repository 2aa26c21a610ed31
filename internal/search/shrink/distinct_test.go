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
	"github.com/interlock-sim/interlock/internal/testkit/long"
)

// Each distinct failure has one counterexample, which shows it. If the context has ended, the first
// schedule of each signature is recorded as it was found.
func TestDistinct(t *testing.T) {
	for _, tc := range long.Sample([]struct {
		lock   string
		groups int
	}{
		{"leak-on-error", 8}, {"name-order", 4},
	}, 1) {
		t.Run(tc.lock, func(t *testing.T) { testDistinct(t, tc.lock, tc.groups) })
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
		var shown []shrink.Failure
		for group := range shrink.Distinct(ctx, t, c, r, func(i int) { begun = append(begun, i) }) {
			if group.Err != nil {
				t.Fatal(group.Err)
			}
			first := group.Failures[0]
			groups = append(groups, slices.IndexFunc(r.Distinct,
				func(d report.DistinctFailure) bool { return d.Signature == first.Signature }))
			short := group.Counterexample
			if short.Recording.Signature != first.Signature ||
				short.Recording.Schedule != group.Schedule.Schedule {
				t.Errorf("%+v is of %+v", short.Recording, first)
			}
			if found := slices.Equal(short.Recording.Deviations, group.Schedule.Deviations); found !=
				(ctx == over) {
				t.Errorf("%s: recorded as found: %v", first.Signature, found)
			}
			again := engine.NewRunner(t).Run(&short.Scenario,
				&engine.Replay{Deviations: short.Recording.Deviations})
			for _, failure := range group.Failures {
				if slices.ContainsFunc(shown, func(f shrink.Failure) bool {
					return f.Signature == failure.Signature && f.Cause.Covers(&failure.Cause)
				}) {
					t.Errorf("%s is shown twice by %v", failure.Signature, &failure.Cause)
				}
				shown = append(shown, failure)
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
		if len(begun) != len(r.Distinct) || !slices.IsSorted(begun) || !slices.IsSorted(groups) {
			t.Errorf("begun %v, groups of %v", begun, groups)
		}
		for _, d := range r.Distinct {
			if !slices.ContainsFunc(shown,
				func(f shrink.Failure) bool { return f.Signature == d.Signature }) {
				t.Errorf("%s is not shown", d.Signature)
			}
		}
	}
}
