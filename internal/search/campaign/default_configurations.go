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
	{clients: 2, cycles: 1, servers: 1, faults: faults.Of(faults.Any, 1), weight: 2},
	{clients: 3, cycles: 2, servers: 1, faults: faults.Of(faults.Any, 2), weight: 6},
	{clients: 1, cycles: 3, servers: 1, faults: faults.Of(faults.Any, 2), weight: 1},
	{clients: 4, cycles: 1, servers: 1, faults: faults.Of(faults.Any, 3), weight: 2},
	// It cuts a holder's server off, which leases must survive.
	{
		clients: 3, cycles: 1, servers: 3, faults: faults.MustParse("partition-server@hold=1"),
		weight: 4,
	},
	{clients: 2, cycles: 2, servers: 3, faults: faults.Of(faults.Any, 2), weight: 2},
	{clients: 3, cycles: 2, servers: 3, faults: faults.Of(faults.Any, 2), weight: 2},
	{clients: 3, cycles: 3, servers: 2, faults: faults.Of(faults.Any, 3), weight: 1},
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
