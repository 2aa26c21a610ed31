package engine

import (
	"slices"

	"github.com/interlock-sim/interlock/sim"
)

// deliverRest delivers what is on its way to processes when a run has reached its bound: otherwise
// an event of a watch would count as lost. No server handles a request meanwhile.
func (l *Loop) deliverRest() {
	awaits := func(p *Process) bool { return !p.Client.Crashed() && p.Client.Undelivered() > 0 }
	for range l.fairStepsMax {
		if !l.cut || l.aborted() || !slices.ContainsFunc(l.Processes, awaits) {
			return
		}
		l.listEnabled()
		l.enabled = slices.DeleteFunc(l.enabled, func(o sim.EnabledStep) bool {
			return o.Kind != sim.Deliver && o.Kind != sim.Tick
		})
		step := l.enabled[DefaultIndex(l.enabled)]
		if step.Kind == sim.Tick && !l.slow() {
			return // What waits cannot arrive.
		}
		l.take(step.Step, false)
	}
}
