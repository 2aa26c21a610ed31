package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/interlock-sim/interlock/history"
)

const reasonStillValid = "the lock was granted within another process's validity time"

// validityKinds holds the kinds of events that begin and end validity times. Ticks make the state
// depend on the time that is left.
const validityKinds = 1<<history.LockReturn | 1<<history.Extended | 1<<history.UnlockCall |
	1<<history.Lost | 1<<history.Crashed | 1<<history.Tick

// Validity decides [history.Validity]: while a process may rely on the lock, no other process is
// granted it.
//
// An event of the property is a LockReturn without an error. A process may rely on the lock from a
// grant with a validity time until that time is over by its own clock, it calls Unlock, it is told
// that the lock is lost, or it crashes. An extension sets a new validity time. The property holds
// if no other process is granted the lock meanwhile.
//
// Unlike [ClientMutualExclusion] the property does not depend on how soon a process acts: it does
// not cover a process that was paused beyond the validity time and is still inside. It covers what
// the servers promise. A lock promises it only within the clock bounds that it states.
//
// Source: S. Sanfilippo, Is Redlock safe?, 2016, on the validity time.
//
// The check takes time linear in the events, times the number of holders at once.
func Validity(events []history.Event) *history.Violation {
	return decide(history.Validity, new(validityMonitor), events)
}

// A validHold is a grant on which its process may rely.
type validHold struct {
	process int32
	until   time.Duration
	since   int // the index of the LockReturn or the last Extended
}

type validityMonitor struct {
	now   time.Duration // of the last observed event
	holds []validHold
}

func (m *validityMonitor) reset() { m.now, m.holds = 0, m.holds[:0] }

func (m *validityMonitor) copy(from monitor) {
	other := from.(*validityMonitor)
	m.now, m.holds = other.now, append(m.holds[:0], other.holds...)
}

func (m *validityMonitor) finish([]history.Event) *history.Violation { return nil }

// state folds in the times that are left.
func (m *validityMonitor) state(_ *queue, s *State) {
	sum := uint64(0)
	for _, h := range m.holds {
		if h.until > m.now {
			sum += fold(uint64(h.process), uint64(h.until-m.now))
		}
	}
	s.fold(sum, 0)
}

// freedom: each event begins or ends a validity time, except that of a failed attempt. A time that
// ends later excludes more grants.
func (m *validityMonitor) freedom(_ *queue, e *history.Event) freedom {
	switch {
	case e.Kind == history.LockReturn && e.Err != "":
		return anywhere
	case e.Kind == history.UnlockCall || e.Kind == history.Lost:
		return later
	}
	return fixed
}

func (m *validityMonitor) observe(_ *queue, log []history.Event, i int) *history.Violation {
	e := &log[i]
	m.now = e.At
	own := slices.IndexFunc(m.holds, func(h validHold) bool { return h.process == e.Process })
	switch e.Kind {
	case history.UnlockCall, history.Lost, history.Crashed:
		m.end(own)
	case history.Extended:
		if e.Err == "" && own >= 0 {
			m.holds[own].until, m.holds[own].since = e.At+e.Validity, i
		}
	case history.LockReturn:
		if e.Err != "" {
			break
		}
		m.end(own)
		for _, h := range m.holds {
			if h.until > e.At {
				return validityViolation(log, i, h)
			}
		}
		if e.Validity > 0 {
			m.holds = append(m.holds, validHold{e.Process, e.At + e.Validity, i})
		}
	}
	return nil
}

// end removes a hold, if there is one.
func (m *validityMonitor) end(n int) {
	if n >= 0 {
		m.holds = slices.Delete(m.holds, n, n+1)
	}
}

func validityViolation(log []history.Event, i int, h validHold) *history.Violation {
	e := &log[i]
	return &history.Violation{
		Property: history.Validity, Event: i, Reason: reasonStillValid,
		Detail: fmt.Sprintf("c%d was granted the lock %s before the validity time of c%d, from "+
			"event %d, was over", e.Process, history.FormatSpan(h.until-e.At), h.process, h.since),
		Evidence: history.Evidence{
			Process: e.Process, Other: h.process, Events: []int{h.since},
		},
	}
}

// grantsAfterValidity counts the grants that another process's grant with a validity time precedes.
func grantsAfterValidity(events []history.Event) (n int) {
	valid := int32(0) // the process of the last grant with a validity time
	for i := range events {
		e := &events[i]
		if e.Kind != history.LockReturn || e.Err != "" {
			continue
		}
		if valid != 0 && valid != e.Process {
			n++
		}
		if e.Validity > 0 {
			valid = e.Process
		}
	}
	return n
}
