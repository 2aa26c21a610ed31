package zookeeper

import (
	"time"

	"github.com/interlock-sim/interlock/sim"
)

var _ sim.Timers = (*System)(nil)

// Shifts returns a shift of each timer of several servers and of their model clients. The real
// client keeps its own time. A single server hears its clients itself, so that a session ends at
// least its timeout after the last request, in whatever phase.
func (z *System) Shifts() []sim.Step {
	if z.cluster.Standalone() {
		return nil
	}
	steps := []sim.Step{
		{Kind: sim.Shift, Process: sim.ExpiryTimer}, {Kind: sim.Shift, Process: sim.RelayTimer},
	}
	for _, c := range z.clients {
		if c.IsModel() {
			steps = append(steps, sim.Step{Kind: sim.Shift, Process: int32(c.Process())})
		}
	}
	return steps
}

// Shift moves the phase of a timer.
func (z *System) Shift(step sim.Step) {
	switch part := int(step.Peer); {
	case step.Process == sim.ExpiryTimer:
		z.cluster.ShiftExpiry(part, sim.PhaseParts)
	case step.Process == sim.RelayTimer:
		z.cluster.ShiftRelay(part, sim.PhaseParts)
	case int(step.Process) <= len(z.clients):
		z.cluster.ShiftPings(z.link(step), part, sim.PhaseParts)
	}
}

// NextInstant returns when the next timer of a server or of a client fires.
func (z *System) NextInstant(after time.Duration) (at time.Duration, ok bool) {
	return z.cluster.NextInstant(after), true
}

// NextPing returns when the model client of a process sends its next ping. It returns false for a
// client that is not connected.
func (z *System) NextPing(process int, after time.Duration) (at time.Duration, ok bool) {
	return z.cluster.NextPing(z.clients[process-1].Link, after)
}

// NextExpiry returns when sessions can end next.
func (z *System) NextExpiry(after time.Duration) time.Duration {
	return z.cluster.NextExpiry(after)
}
