package exhaustive

import (
	"fmt"

	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// DefaultIdleTicks returns the idle ticks of a search of the scenario whose user gives no number: 1
// if data of the service expire, and else 0. Without an idle tick, no data expire while a message
// is in flight, as between a comparison with a key and the deletion of the key.
func DefaultIdleTicks(scenario *scenarios.Scenario) int {
	if expires(scenario) {
		return 1
	}
	return 0
}

func expires(scenario *scenarios.Scenario) bool {
	service, ok := scenario.Subject.EffectiveService().(sim.Expiring)
	return ok && service.Expires()
}

// timeScope says where time passes in the search.
func (e *Search) timeScope() string {
	waits := ""
	if expires(&e.Scenario) {
		waits = "stored data wait for their expiry"
	}
	if e.Scenario.Faults.String() != "none" {
		if waits != "" {
			waits += " or, once a fault has struck, "
		}
		waits += "an effect of the fault waits for time"
	}
	text := "in which time passes where nothing else can happen"
	switch {
	case expires(&e.Scenario):
		text += " and, where no message is in flight and no process is about to enter, while " +
			waits
	case waits != "":
		text += " and, once a fault has struck, where no message is in flight, no process is " +
			"about to enter and " + waits
	}
	switch e.IdleTicks {
	case 0:
	case 1:
		text += ", and at one other moment of a schedule"
	default:
		text += fmt.Sprintf(", and at %d other moments of a schedule", e.IdleTicks)
	}
	return text
}
