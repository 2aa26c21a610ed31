package exhaustive_test

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/testkit/long"
)

// scheduleList returns the schedules of a search by deviations in order, and its report.
func scheduleList(t *testing.T, e exhaustive.Search) (schedules []string, r *report.Exhaustive) {
	t.Helper()
	e.Each = func(r *engine.Result) { schedules = append(schedules, fmt.Sprint(r.Deviations)) }
	r = e.Run(context.Background(), t)
	return schedules, r
}

// The parts of a search have, with each bound on deviations, one after the other the schedules of
// the whole search.
func TestPartsJoin(t *testing.T) {
	type searchCase struct {
		lock            string
		clients, cycles int
		servers         int
		plan            string
		deviations      int
		fair, symmetry  bool
	}
	for _, tc := range long.Sample([]searchCase{
		{"textbook", 2, 1, 1, "none", long.Count(2, 3), false, false},
		{"textbook", 1, 1, 1, "any=1", 2, false, false},
		{"textbook", 3, 1, 1, "none", 2, false, true},
		{"mutex", 2, 1, 1, "none", 2, true, false},
		{"no-recheck", 1, 1, 1, "cut=2", 3, false, false},
		{"textbook", 1, 1, 3, "none", 2, false, false},
	}, 2) {
		e := searchOf(t, tc.lock, tc.clients, tc.cycles, tc.servers, tc.plan)
		e.MaxDeviations, e.FairSuffixes, e.Symmetry = tc.deviations, tc.fair, tc.symmetry
		whole, want := scheduleList(t, e)
		for _, of := range long.Sample([]int{3, 1, 2, 7, 1000}, 1) {
			levels := make([][]string, tc.deviations)
			ran, guiding, most := 0, 0, 0
			var before *report.Part
			for i := range of {
				e.Shard = report.Shard{Index: i, Of: of}
				part, r := scheduleList(t, e)
				for bound, l := range r.Part.Levels {
					n := l.Schedules
					levels[bound], part = append(levels[bound], part[:n]...), part[n:]
					if before != nil && !reflect.DeepEqual(before.Levels[bound].End, l.Begin) {
						t.Errorf("%v: part %d of %d begins with %v, not %v", &e.Scenario, i, of,
							l.Begin, before.Levels[bound].End)
					}
					if i == of-1 && l.End != nil {
						t.Errorf("%v: after the last of %d parts: %v", &e.Scenario, of, l.End)
					}
				}
				before = r.Part
				if len(part) > 0 || !r.Covered || r.Complete || r.Untried > 0 {
					t.Errorf("%v: part %d of %d: %+v", &e.Scenario, i, of, r)
				}
				ran, guiding = ran+r.Schedules, guiding+r.Part.Guiding
				most = max(most, r.Schedules)
			}
			if all := slices.Concat(levels...); !slices.Equal(all, whole) {
				t.Errorf("%v: %d parts have %d schedules, not the %d of the whole", &e.Scenario, of,
					len(all), len(whole))
			}
			if most := tc.deviations * (tc.deviations + 1) / 2 * (of - 1); guiding > most {
				t.Errorf("%v: %d runs of other parts, at most %d are due", &e.Scenario, guiding, most)
			}
			t.Logf("%v: %d parts of %d schedules: largest %.2f of mean, %.2g run twice", &e.Scenario,
				of, want.Schedules, float64(most)*float64(of)/math.Max(1, float64(ran)),
				float64(guiding)/float64(ran))
		}
		e.Shard = report.Shard{}
	}
}
