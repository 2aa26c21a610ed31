package exhaustive_test

import (
	"context"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
)

// An exhaustive search of processes that open further clients is complete, finds a lock that trusts
// its second session, and begins anew at the first such client: neither cached reactions nor the
// reduction know of it.
func TestFurtherClients(t *testing.T) {
	for _, trusts := range []bool{false, true} {
		for _, plan := range long.Sample([]string{"none", "cut=1", "expire=1"}, 2) {
			fails := trusts && plan != "none"
			e := &exhaustive.Search{
				KeepGoing: !fails || long.Enabled(),
				Scenario:  locktest.Planned(t, locktest.Successor(trusts), 2, 1, plan),
			}
			r := e.Run(context.Background(), t)
			t.Logf("trusts %v, %s: %d schedules, %d states", trusts, plan, r.Schedules, r.States)
			if e.KeepGoing && !r.Complete {
				t.Errorf("trusts %v, %s: not complete; %s", trusts, plan, r.DescribeDiffering())
			}
			if fails != (r.Failure != nil) ||
				fails && r.Failure.Violations[0].Property != history.ClientMutualExclusion {
				t.Errorf("trusts %v, %s: failure %+v", trusts, plan, r.Failure)
			}
			if further := plan != "none"; e.NoReplayCache != further || e.NoReduction != further {
				t.Errorf("%s: no replay cache %v, no reduction %v", plan, e.NoReplayCache,
					e.NoReduction)
			}
		}
	}
}
