package engine

import (
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/refusal"
	"github.com/interlock-sim/interlock/sim"
)

// reachWithin is how long processes that open their clients themselves may run before one of these
// dials.
const reachWithin = 15 * time.Second

// unreached reports whether processes open their clients themselves and none has dialed a simulated
// server, although no fault struck one of the processes. It returns the first such process. The
// code then does not use the client that it is given, and a real server may answer it.
func (l *Loop) unreached() (process int, ok bool) {
	system, isDialing := l.System.(sim.Dialing)
	if !isDialing || system.Reached() {
		return 0, false
	}
	struck := make([]bool, len(l.Processes))
	for _, e := range l.log.Events() {
		if e.Kind == history.Fault && e.Process > 0 {
			victim, _ := history.ProcessOf(e.Process)
			struck[victim-1] = true
		}
	}
	for i, p := range l.Processes {
		if !struck[i] {
			return p.Number, true
		}
	}
	return 0, false
}

// strays reports whether the run ends early because its code reaches no simulated server.
func (l *Loop) strays(now time.Duration) bool {
	if now < reachWithin {
		return false
	}
	_, ok := l.unreached()
	return ok
}

// refuseUnreached refuses the code of a run in which it has reached no simulated server.
func (l *Loop) refuseUnreached() {
	if process, ok := l.unreached(); ok && l.result.Panic == "" {
		l.result.Panic, l.result.PanicProcess = refusal.Unreached, process
	}
}
