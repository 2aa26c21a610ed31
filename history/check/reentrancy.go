package check

import (
	"fmt"

	"github.com/interlock-sim/interlock/history"
)

const (
	reasonTooSoon = "the lock was given back before its last unlock"
	reasonTooLate = "the lock was kept after its last unlock"
	reasonRefusal = "a holder was refused the lock that it has"
)

// Reentrancy decides [history.Reentrancy]: the lock is released by the last of as many unlocks as
// there were locks, neither earlier nor later.
//
// A holder locks again by a ReenterCall, and undoes that by an Exited; its last unlock is the
// UnlockCall. The events of the property are:
//   - the deletion of a holder's node: no request of the holder itself deletes the node before the
//     UnlockCall, unless the holder was notified of a loss before;
//   - an UnlockReturn without an error: the node is deleted by then;
//   - a ReenterReturn: it has no error for a holder whose node is live, unless the holder is
//     notified of a loss at once.
//
// The property does not cover a node that is deleted with its session or by another process, which
// is covered by [history.LossNotification], nor a hold whose node is unknown.
//
// The check takes time linear in the events, times the number of live nodes and processes.
func Reentrancy(events []history.Event) *history.Violation {
	return decide(history.Reentrancy, new(reentrancyMonitor), events)
}

// reentrancyKinds holds the kinds of events that decide. Any other may only be the first after a
// deletion.
const reentrancyKinds = holdKinds | history.QueueKinds | 1<<history.ReenterReturn

type reentrancyMonitor struct {
	holds holdList
	// a deletion of a holder's node that is a violation unless the same transaction ends its
	// session
	suspect *history.Violation
	zxid    int64 // of the transaction
}

func (m *reentrancyMonitor) reset() { m.holds, m.suspect = m.holds[:0], nil }

func (m *reentrancyMonitor) copy(from monitor) {
	other := from.(*reentrancyMonitor)
	m.holds, m.suspect, m.zxid = append(m.holds[:0], other.holds...), other.suspect, other.zxid
}

func (m *reentrancyMonitor) finish([]history.Event) *history.Violation { return m.suspect }

func (m *reentrancyMonitor) state(_ *queue, s *State) {
	m.holds.state(s)
	s.fold(bit(m.suspect != nil, 0), 0)
}

// freedom: if a call returns earlier, while the node is live, the lock is kept too long or a holder
// is refused its lock. Only requests of the holder itself release the lock too soon.
func (m *reentrancyMonitor) freedom(q *queue, e *history.Event) freedom {
	switch {
	case e.Kind == history.LockReturn || e.Kind == history.UnlockCall:
		return queueFreedom(q, e)
	case e.Kind == history.ReenterCall || e.Kind == history.ReenterReturn,
		e.Kind == history.LockCall || e.Kind == history.UnlockReturn,
		e.Kind == history.Lost || e.Kind == history.Crashed:
		return anywhere
	}
	return free(reentrancyKinds>>e.Kind&1 == 0, anywhere)
}

func (m *reentrancyMonitor) observe(q *queue, log []history.Event, i int) *history.Violation {
	e := &log[i]
	if m.suspect != nil {
		switch {
		case e.Zxid != m.zxid:
			return m.suspect
		case e.Kind == history.SessionExpired || e.Kind == history.SessionClosed:
			m.suspect = nil
		}
	}
	if reentrancyKinds>>e.Kind&1 == 0 {
		return nil
	}
	if v := m.check(q, e, i); v != nil {
		return v
	}
	m.holds.observe(q, e)
	if h := m.holds.find(e.Process); h >= 0 && e.Kind == history.ReenterReturn && e.Err != "" &&
		!m.holds[h].deleted && !m.holds[h].notified {
		m.holds[h].reenterFailed = i
	}
	return nil
}

// check returns how event i breaks the property, or nil.
func (m *reentrancyMonitor) check(q *queue, e *history.Event, i int) *history.Violation {
	h := m.holds.find(e.Process)
	if h < 0 || m.holds[h].node < 0 {
		return nil
	}
	had := &m.holds[h]
	violation := func(reason string, at int) *history.Violation {
		return &history.Violation{
			Property: history.Reentrancy, Event: at, Reason: reason,
			Detail: fmt.Sprintf("c%d in attempt %d, by its node created at event %d", e.Process,
				had.attempt, had.node),
			Evidence: history.Evidence{Process: e.Process, Events: []int{had.node}},
		}
	}
	switch {
	case had.reenterFailed != 0 && e.Kind != history.Lost && e.Kind != history.Crashed &&
		e.Kind != history.NodeDeleted:
		return violation(reasonRefusal, had.reenterFailed)
	case e.Kind == history.NodeDeleted && !had.unlocking && !had.notified:
		if n := q.Live(e.Path); n >= 0 && q.Nodes[n].Created == had.node {
			m.suspect, m.zxid = violation(reasonTooSoon, i), e.Zxid
		}
	case e.Kind == history.UnlockReturn && e.Err == "" && e.Attempt == had.attempt && !had.deleted:
		return violation(reasonTooLate, i)
	}
	return nil
}
