package campaign

import (
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/scenarios"
)

// DefaultConfigurations returns the configurations among which interlock check shares its
// schedules. The first schedules run them in this order. The scenarios have only what differs
// between them.
func DefaultConfigurations() (all []Configuration) {
	partitionHolder := faults.MustParse("partition-server@hold=1") // which leases must survive
	for _, row := range []struct {
		clients, cycles, servers int // 0 servers: as many as the lock needs
		faults                   faults.Plan
		weight                   int
	}{
		{2, 1, 0, faults.Of(faults.Any, 1), 2},
		{3, 2, 0, faults.Of(faults.Any, 2), 6},
		{1, 3, 0, faults.Of(faults.Any, 2), 1},
		{4, 1, 0, faults.Of(faults.Any, 3), 2},
		{3, 1, 3, partitionHolder, 4},
		{2, 2, 3, faults.Of(faults.Any, 2), 2},
		{3, 2, 3, faults.Of(faults.Any, 2), 2},
		{3, 3, 2, faults.Of(faults.Any, 3), 1},
	} {
		all = append(all, Configuration{scenarios.Scenario{
			Clients: row.clients, Cycles: row.cycles, Servers: row.servers, Faults: row.faults,
		}, row.weight})
	}
	return all
}
