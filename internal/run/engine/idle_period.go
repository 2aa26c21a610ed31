package engine

import (
	"slices"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

// An idlePeriod is the part of a run after all processes have finished. If the lock claims
// [history.Quiescence], a run goes on when nothing is in flight any more, without faults and by the
// default policy, until the lock has sent nothing for [history.QuiescenceAfter]. A lock that sends
// nothing in that time leaves no trace of it: its run is the same as without the claim.
type idlePeriod struct {
	observed bool          // the lock claims the property
	read     int           // the number of events read
	requests int           // of the lock, since all processes finished
	last     time.Duration // when the last of them was sent

	settled bool          // nothing was in flight any more
	since   time.Duration // when that was
	until   idleMark      // the run up to then
}

// An idleMark is a position in a run to which the run can be truncated.
type idleMark struct {
	requests, steps, keys, starts int
	log                           history.Mark
}

// readIdle counts the requests that the lock has sent since all processes finished.
func (l *Loop) readIdle() {
	i := &l.idle
	for events := l.log.Events(); i.read < len(events); i.read++ {
		if e := &events[i.read]; check.LockRequest(e) {
			i.requests++
			i.last = e.At
		}
	}
}

// silent reports whether the lock has sent nothing for long enough, once nothing is in flight.
func (l *Loop) silent(now time.Duration) bool {
	i := &l.idle
	if !i.observed || !i.settled && l.allEnded() {
		return true
	}
	if !i.settled {
		i.settled, i.since = true, now
		i.until = idleMark{
			i.requests, l.steps, len(l.result.Keys), len(l.result.Starts), l.log.Mark(),
		}
		if !l.fair {
			l.beginFairPhase()
		}
		return false
	}
	if now-max(i.since, i.last) < history.QuiescenceAfter {
		return false
	}
	if i.requests == i.until.requests {
		l.truncate(&i.until)
	}
	return true
}

// allEnded reports whether no process can send anything any more.
func (l *Loop) allEnded() bool {
	return !slices.ContainsFunc(l.Processes,
		func(p *Process) bool { return !p.Client.Crashed() && !l.executor.Ended(p) })
}

// truncate makes the run end at the mark.
func (l *Loop) truncate(m *idleMark) {
	l.log.Return(m.log)
	l.steps, l.result.Keys, l.result.Starts = m.steps, l.result.Keys[:m.keys],
		l.result.Starts[:m.starts]
}

// settleMax returns how long a run may go on after all processes have finished. Requests that go on
// for half of the usual time are observed for longer.
func (l *Loop) settleMax() time.Duration {
	i := &l.idle
	if i.observed && (i.settled || i.last > l.settleFrom+settleBound/2) {
		return settleBound + 2*history.QuiescenceAfter
	}
	return settleBound
}

// endless reports whether some process has sent more requests than [history.Quiescence] allows.
func (l *Loop) endless() bool {
	return l.idle.requests > history.QuiescenceRequests*len(l.Processes)
}
