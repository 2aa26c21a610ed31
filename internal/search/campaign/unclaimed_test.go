package campaign_test

import (
	"context"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// What a lock keeps and does not claim is listed, unlike what it breaks, what it claims already, and
// what its schedules do not exercise.
func TestUnclaimed(t *testing.T) {
	c := &campaign.Campaign{
		Scenario: *locktest.Scenario(subjects.NameOrder(), 3, 2, 0), Seed: 1,
		Schedules: 2000, Workers: 2,
	}
	c.Scenario.Faults = faults.Of(faults.Any, 1)
	c.Scenario.Subject.Claims = []history.Property{history.ServerMutualExclusion}
	held := c.Unclaimed(context.Background(), t, 200)
	for _, p := range []history.Property{history.Progress, history.NoLeakedNodes, history.Promptness} {
		if !slices.Contains(held, p) {
			t.Errorf("%s is not in %v", p, held)
		}
	}
	for _, p := range []history.Property{
		history.FIFO, history.ServerMutualExclusion, history.Reentrancy, history.NoEarlyPass,
		history.OneLeaderPerTerm, history.OwnRelease,
	} {
		if slices.Contains(held, p) {
			t.Errorf("%s is in %v", p, held)
		}
	}
	if !slices.Equal(c.Scenario.Subject.Claims, []history.Property{history.ServerMutualExclusion}) {
		t.Errorf("the lock claims %v now", c.Scenario.Subject.Claims)
	}
}
