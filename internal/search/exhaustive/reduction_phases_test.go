package exhaustive_test

import (
	"maps"
	"testing"

	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// A server fault bound to a phase of the lock can strike only until the next delivery to a process
// changes the phase. The reduction, which elsewhere puts such deliveries first, loses no history
// with these faults.
func TestReductionKeepsPhases(t *testing.T) {
	for _, plan := range long.Sample([]string{
		"slow-clock@watch=1", "slow-clock:s1@watch=1", "slow-clock@create=1", "slow-clock@list=1",
		"slow-clock@wait=1", "slow-clock@woken=1",
		"slow-clock@hold=1", "slow-clock@release=1", "slow-clock@ask=1", "slow-clock@idle=1",
	}, 5) {
		t.Run(plan, func(t *testing.T) {
			e := exhaustive.Search{
				Scenario:      locktest.Planned(t, subjects.Textbook(), 2, 1, plan),
				NoReplayCache: true,
			}
			reduced := search(t, e)
			e.NoReduction = true
			unreduced := search(t, e)
			if !maps.Equal(reduced.histories, unreduced.histories) {
				t.Errorf("%d histories, want %d", len(reduced.histories), len(unreduced.histories))
			}
		})
	}
}
