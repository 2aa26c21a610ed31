package simzk_test

import (
	"context"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/simzk"
)

// An ordinary search notices when the simulator breaks a promise of ZooKeeper's. So a search that
// finds nothing says something about the simulator too.
func TestSabotageIsNoticed(t *testing.T) {
	if len(simzk.Sabotages) != simzk.SabotageCount {
		t.Errorf("%d of %d kinds of sabotage are tried", len(simzk.Sabotages), simzk.SabotageCount)
	}
	for name, which := range simzk.Sabotages {
		t.Run(name, func(t *testing.T) {
			defer simzk.Sabotage(which)()
			for _, servers := range []int{1, 3} {
				for _, subject := range []scenarios.Subject{
					subjects.Mutex(), subjects.RWMutex(),
					subjects.Herd(),
				} {
					c := &scenarios.Campaign{
						Seed: 1, Schedules: 1500, Workers: 1,
						Scenario: scenarios.Scenario{
							Subject: subject, Clients: 3, Cycles: 2, Faults: faults.Default(),
							Servers: servers,
						},
					}
					if r := c.Run(context.Background(), t); r.Failure != nil {
						t.Logf("%d servers, %s, schedule %d: %s", servers, subject.Name,
							r.Failure.Schedule,
							r.Failure.Violations[0].Signature())
						return
					}
				}
			}
			t.Error("nobody noticed")
		})
	}
}

// A commit that no majority has logged is lost with its leader, and a run goes on.
func TestLostCommits(t *testing.T) {
	defer simzk.Sabotage(simzk.Sabotages["a commit without a majority"])()
	runner := scenarios.NewRunner(t)
	scenario := scenarios.Scenario{
		Subject: subjects.Herd(), Clients: 3, Cycles: 2, Servers: 3,
		Faults: faults.Plan{},
	}
	scenario.Faults.Of[faults.PartitionServer], scenario.Faults.Of[faults.Restart] = 2, 1
	noticed := 0
	for schedule := range 300 {
		if result := runner.Run(&scenario,
			scenarios.NewRandom(1, schedule)); len(result.Violations) > 0 {
			noticed++
		}
	}
	if noticed == 0 {
		t.Error("nobody noticed")
	}
}
