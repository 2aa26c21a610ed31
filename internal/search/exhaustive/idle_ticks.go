package exhaustive

import "github.com/interlock-sim/interlock/scenarios"

// DefaultIdleTicks returns the idle ticks of a search of the scenario whose user gives no number: 1
// if data of the service expire, and else 0. Without an idle tick, no data expire while a message
// is in flight, as between a comparison with a key and the deletion of the key.
func DefaultIdleTicks(scenario *scenarios.Scenario) int {
	if scenario.Expires() {
		return 1
	}
	return 0
}
