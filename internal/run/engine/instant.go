package engine

import (
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/sim"
)

// instants returns the instants of fault plans at which a fault would strike now. A ping is that of
// the process whose phase counts; see [Loop.victim].
func (l *Loop) instants(fault sim.Step) (set faults.InstantSet) {
	now := l.System.Now()
	soon := func(at time.Duration, ok bool) bool { return ok && at-now <= instantDistance }
	p := l.victim(fault)
	if p != nil && p.answered() {
		set = set.With(faults.AfterReply)
	}
	system, ok := l.System.(sim.Timers)
	if !ok {
		return set
	}
	if p != nil && soon(system.NextPing(p.Client.Process(), now)) {
		set = set.With(faults.BeforePing)
	}
	if soon(system.NextExpiry(now), true) {
		set = set.With(faults.BeforeExpiry)
	}
	return set
}

// answered reports whether the process has received all replies, and its next request is on its way
// to the server.
func (p *Process) answered() bool { return p.Client.Unserved() > 0 && p.Client.Undelivered() == 0 }
