package exhaustive_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// A search that stores only states with several explored steps covers the same histories as one
// that stores all, with the same verdicts and far fewer states.
func TestStoringLessLosesNothing(t *testing.T) {
	for _, tc := range long.Sample([]struct {
		subject         scenarios.Subject
		clients, cycles int
		plan            string
		apart           bool
	}{
		{subjects.Textbook(), 3, 1, "none", true},
		{subjects.Textbook(), 2, 2, "none", true},
		{subjects.Textbook(), 2, 1, "cut=1", true},
		{subjects.Mutex(), 3, 1, "none", false},
		{subjects.Mutex(), 1, 2, "any=1", false},
		{subjects.Mutex(), 2, 1, "expire=1", false},
		{subjects.NameOrder(), 2, 1, "none", false},
		{subjects.NoRecheck(), 2, 2, "none", false},
		{subjects.DeafToExpiry(), 2, 1, "expire:c1=1", false},
		{subjects.LeakOnError(), 1, 1, "any=1", false},
	}, 3) {
		t.Run(fmt.Sprintf("%s %d×%d %s", tc.subject.Name, tc.clients, tc.cycles, tc.plan),
			func(t *testing.T) {
				e := exhaustive.Search{
					Scenario: locktest.Planned(t, tc.subject, tc.clients, tc.cycles, tc.plan),
					NoMerge:  tc.apart,
				}
				got := search(t, e)
				want := search(t, *e.StoreAll())
				if !maps.Equal(got.verdicts, want.verdicts) {
					t.Errorf("verdicts %v, want %v", got.verdicts, want.verdicts)
				}
				for history := range want.histories {
					if tc.apart && !got.histories[history] {
						t.Errorf("the search misses the history %s", history)
					}
				}
				if few, all := got.report.States, want.report.States; 2*few > all {
					t.Errorf("%d stored states, and %d if all are stored", few, all)
				}
			})
	}
}
