package campaign

import (
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/scenarios"
)

// A row is a row of the table of default configurations.
type row struct {
	clients, cycles, servers int
	faults                   faults.Plan
	weight                   int
}

// defaultRows are the configurations among which interlock check shares its schedules. The first
// schedules run them in this order.
var defaultRows = [...]row{
	{clients: 2, cycles: 1, servers: 1, faults: faults.Plan{Any: 1}, weight: 2},
	{clients: 3, cycles: 2, servers: 1, faults: faults.Plan{Any: 2}, weight: 6},
	{clients: 1, cycles: 3, servers: 1, faults: faults.Plan{Any: 2}, weight: 1},
	{clients: 4, cycles: 1, servers: 1, faults: faults.Plan{Any: 3}, weight: 2},
	{clients: 3, cycles: 1, servers: 3, faults: partitionHolder(), weight: 4},
	{clients: 2, cycles: 2, servers: 3, faults: faults.Plan{Any: 2}, weight: 2},
	{clients: 3, cycles: 2, servers: 3, faults: faults.Plan{Any: 2}, weight: 2},
	{clients: 3, cycles: 3, servers: 2, faults: faults.Plan{Any: 3}, weight: 1},
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
		s := scenarios.Scenario{Clients: r.clients, Cycles: r.cycles, Faults: r.faults}
		if r.servers > 1 { // One server is 0, as in recordings.
			s.Servers = r.servers
		}
		all = append(all, Configuration{s, r.weight})
	}
	return all
}
