package simzk_test

import (
	"context"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// The simulator keeps the guarantees of ZooKeeper in an ordinary search of correct locks, which
// notices when it breaks one: internal/tools/mutation does that. A search that finds nothing is
// therefore also evidence for the simulator.
func TestGuaranteesAreKept(t *testing.T) {
	partitions := faults.MustParse("partition-server=2,restart=1")
	for _, tc := range []struct {
		name      string
		subject   scenarios.Subject
		servers   int
		schedules int
		faults    faults.Plan
	}{
		{"one server", subjects.Mutex(), 1, 100, faults.Default()},
		{"readers and writers", subjects.RWMutex(), 1, 300, faults.Default()},
		{"three servers", subjects.Mutex(), 3, 200, faults.Default()},
		// A commit without a majority is lost with its leader, and the run continues.
		{"lost leaders", subjects.Herd(), 3, 300, partitions},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &campaign.Campaign{
				Seed: 1, Schedules: tc.schedules, Workers: 1,
				Scenario: scenarios.Scenario{
					Subject: tc.subject, Clients: 3, Cycles: 2, Servers: tc.servers,
					Faults: tc.faults,
				},
			}
			if r := c.Run(context.Background(), t); r.Failure != nil {
				t.Errorf("schedule %d: %s", r.Failure.Schedule, r.Failure.Violations[0].Signature())
			}
		})
	}
}
