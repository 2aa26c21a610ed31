package campaign

import (
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/scenarios"
)

// defaultRows are the configurations among which interlock check shares its schedules, with their
// weights. The first schedules run them in this order.
var defaultRows = [...]struct {
	Variation // clients, cycles, servers, where 0 stands for 1, and faults
	weight    int
}{
	{Variation{2, 1, 0, faults.Plan{Any: 1}}, 2},
	{Variation{3, 2, 0, faults.Plan{Any: 2}}, 6},
	{Variation{1, 3, 0, faults.Plan{Any: 2}}, 1},
	{Variation{4, 1, 0, faults.Plan{Any: 3}}, 2},
	{Variation{3, 1, 3, partitionHolder()}, 4},
	{Variation{2, 2, 3, faults.Plan{Any: 2}}, 2},
	{Variation{3, 2, 3, faults.Plan{Any: 2}}, 2},
	{Variation{3, 3, 2, faults.Plan{Any: 3}}, 1},
}

// partitionHolder returns the plan that cuts a holder's server off, which leases must survive.
func partitionHolder() (plan faults.Plan) {
	plan.At[faults.PartitionServer][faults.Holding] = 1
	return plan
}

// DefaultConfigurations returns the configurations of the default search. The scenarios have only
// what differs between them.
func DefaultConfigurations() (all []Configuration) {
	for _, r := range defaultRows {
		all = append(all, Configuration{r.Of(scenarios.Scenario{}), r.weight})
	}
	return all
}
