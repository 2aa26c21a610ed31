package engine

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// mayWait reports whether processes may wait for ever: at a barrier, or on a slow link.
func (l *Loop) mayWait() bool { return l.parties > 0 || l.slow() }

// slow reports whether a link is slow.
func (l *Loop) slow() bool {
	return slices.ContainsFunc(l.Processes, func(p *Process) bool { return p.slow })
}

// advances reports whether a call of the lock has returned since the last question, while a link is
// slow. Those who wait for others then get the lock later than the bound on time allows for.
func (l *Loop) advances() bool {
	if !l.slow() {
		return false
	}
	events := l.log.Events()[l.fairRead:]
	l.fairRead = l.log.Len()
	return slices.ContainsFunc(events, func(e history.Event) bool {
		return e.Kind == history.LockReturn || e.Kind == history.UnlockReturn
	})
}

// waitsSlowly reports whether all that a process still does is wait for the lock on a slow link, on
// which it need not get it.
func (p *Process) waitsSlowly() bool {
	waiting := p.waits()
	for _, thread := range p.Threads {
		if !thread.done() && !thread.waits() {
			return false
		}
		waiting = waiting || thread.waits()
	}
	return p.slow && waiting && (p.done() || p.waits())
}

// waits reports whether a thread waits for the lock.
func (p *Process) waits() bool { return !p.done() && p.Stage == locking }
