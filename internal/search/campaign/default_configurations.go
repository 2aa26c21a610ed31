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
		Variation // clients, cycles, servers, where 0 stands for 1, and faults
		weight    int
	}{
		{Variation{2, 1, 0, faults.Of(faults.Any, 1)}, 2},
		{Variation{3, 2, 0, faults.Of(faults.Any, 2)}, 6},
		{Variation{1, 3, 0, faults.Of(faults.Any, 2)}, 1},
		{Variation{4, 1, 0, faults.Of(faults.Any, 3)}, 2},
		{Variation{3, 1, 3, partitionHolder}, 4},
		{Variation{2, 2, 3, faults.Of(faults.Any, 2)}, 2},
		{Variation{3, 2, 3, faults.Of(faults.Any, 2)}, 2},
		{Variation{3, 3, 2, faults.Of(faults.Any, 3)}, 1},
	} {
		all = append(all, Configuration{row.Of(scenarios.Scenario{}), row.weight})
	}
	return all
}
