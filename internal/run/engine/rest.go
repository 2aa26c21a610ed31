package engine

import (
	"slices"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/sim"
)

// deliverRest delivers what is on its way to processes when a run has reached its bound: otherwise
// an event of a watch would count as lost. No server handles a request meanwhile. All that is on
// its way arrives within the greatest latency.
func (l *Loop) deliverRest() {
	if !l.cut {
		return
	}
	awaits := func(p *Process) bool { return !p.Client.Crashed() && p.Client.Undelivered() > 0 }
	until := l.System.Now() + faults.LatencyMax
	for !l.aborted() && slices.ContainsFunc(l.Processes, awaits) {
		l.listEnabled()
		l.enabled = slices.DeleteFunc(l.enabled, func(o sim.EnabledStep) bool {
			return o.Kind != sim.Deliver && o.Kind != sim.Tick
		})
		step := l.enabled[DefaultIndex(l.enabled)]
		if step.Kind == sim.Tick && (!l.slow() || l.System.Now() >= until) {
			return // What waits does not arrive by itself.
		}
		l.take(step.Step, false)
	}
}
