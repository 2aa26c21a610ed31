package simzk_test

import (
	"context"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/simzk"
)

// An ordinary search notices when the simulator breaks one of ZooKeeper's guarantees. A search that
// finds nothing is therefore also evidence for the simulator.
func TestMutationsAreNoticed(t *testing.T) {
	if len(simzk.Mutations) != simzk.MutationCount {
		t.Errorf("%d of %d mutations are tested", len(simzk.Mutations), simzk.MutationCount)
	}
	for name, which := range simzk.Mutations {
		t.Run(name, func(t *testing.T) {
			defer simzk.Mutate(which)()
			// Most are noticed soon, but not in every scenario.
			if !noticed(t, 100) && !noticed(t, 1500) {
				t.Error("no checker noticed")
			}
		})
	}
}

// noticed reports whether a campaign of that size notices the current mutation.
func noticed(t *testing.T, schedules int) bool {
	t.Helper()
	for _, servers := range []int{1, 3} {
		for _, subject := range []scenarios.Subject{
			subjects.Mutex(), subjects.RWMutex(), subjects.Herd(),
		} {
			c := &campaign.Campaign{
				Seed: 1, Schedules: schedules, Workers: 1,
				Scenario: scenarios.Scenario{
					Subject: subject, Clients: 3, Cycles: 2,
					Faults: faults.Default(), Servers: servers,
				},
			}
			if r := c.Run(context.Background(), t); r.Failure != nil {
				t.Logf("%d servers, %s, schedule %d: %s", servers, subject.Name,
					r.Failure.Schedule, r.Failure.Violations[0].Signature())
				return true
			}
		}
	}
	return false
}

// A commit without a majority is lost with its leader, and the run continues.
func TestLostCommits(t *testing.T) {
	defer simzk.Mutate(simzk.Mutations["a commit without a majority"])()
	runner := engine.NewRunner(t)
	scenario := scenarios.Scenario{
		Subject: subjects.Herd(), Clients: 3, Cycles: 2, Servers: 3,
		Faults: faults.Plan{},
	}
	scenario.Faults.Of[faults.PartitionServer], scenario.Faults.Of[faults.Restart] = 2, 1
	noticed := 0
	for schedule := range 300 {
		if result := runner.Run(&scenario,
			strategy.NewRandom(1, schedule)); len(result.Violations) > 0 {
			noticed++
		}
	}
	if noticed == 0 {
		t.Error("nobody noticed")
	}
}
