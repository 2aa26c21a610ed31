package history

import "fmt"

const (
	reasonTooSoon = "the lock was given back before its last unlock"
	reasonTooLate = "the lock was kept after its last unlock"
	reasonRefusal = "a holder was refused the lock that it has"
)

// CheckReentrancy decides [Reentrancy]: as many unlocks as locks give the lock back, no sooner and
// no later.
//
// A process that has the lock takes it once more by a ReenterCall, and gives that back by what an
// Exited records; the last of its unlocks is the one that UnlockCall and UnlockReturn record. The
// property holds if
//   - the holder's node is not deleted by the holder's own request before UnlockCall, unless it was
//     told before that the lock is lost;
//   - it is deleted when UnlockReturn reports success;
//   - a ReenterReturn reports no failure to a holder whose node stands, unless it is told right
//     then that the lock is lost.
//
// A node that goes with its session, or that somebody else deletes, is a matter of
// [LossNotification]. Holds whose node is not known are not judged.
//
// It takes time linear in the events, times the number of nodes and processes alive.
func CheckReentrancy(events []Event) *Violation {
	return decide(Reentrancy, new(reentrancyMonitor), events)
}

type reentrancyMonitor struct {
	holds holdList
	// a holder has deleted its node too soon, unless the same transaction ends its session
	suspect *Violation
	zxid    int64 // of that transaction
}

func (m *reentrancyMonitor) reset() { m.holds, m.suspect = m.holds[:0], nil }

func (m *reentrancyMonitor) copy(from monitor) {
	other := from.(*reentrancyMonitor)
	m.holds, m.suspect, m.zxid = append(m.holds[:0], other.holds...), other.suspect, other.zxid
}

func (m *reentrancyMonitor) finish(*queue, []Event) *Violation { return m.suspect }

func (m *reentrancyMonitor) state(_ *queue, s *State) {
	m.holds.state(s)
	s.fold(bit(m.suspect != nil, 0), 0)
}

// visible: to return from a call sooner, while the node stands, is to keep the lock for too long,
// or to be refused what one has.
func (m *reentrancyMonitor) visible(q *queue, e *Event) bool {
	return e.Kind == UnlockCall || e.Kind == LockReturn && !q.grantIsLocal(e)
}

func (m *reentrancyMonitor) observe(q *queue, log []Event, i int) *Violation {
	e := &log[i]
	if m.suspect != nil {
		switch {
		case e.Zxid != m.zxid:
			return m.suspect
		case e.Kind == SessionExpired || e.Kind == SessionClosed:
			m.suspect = nil
		}
	}
	if (holdKinds|queueKinds|1<<ReenterReturn)>>e.Kind&1 == 0 {
		return nil
	}
	if v := m.judge(q, e, i); v != nil {
		return v
	}
	m.holds.observe(q, e)
	if h := m.holds.find(e.Process); h >= 0 && e.Kind == ReenterReturn && e.Err != "" &&
		!m.holds[h].deleted && !m.holds[h].notified {
		m.holds[h].reenterFailed = i
	}
	return nil
}

// judge returns how event number i breaks the count, or nil.
func (m *reentrancyMonitor) judge(q *queue, e *Event, i int) *Violation {
	h := m.holds.find(e.Process)
	if h < 0 || m.holds[h].node < 0 {
		return nil
	}
	had := &m.holds[h]
	violation := func(reason string, at int) *Violation {
		return &Violation{
			Property: Reentrancy, Event: at, Reason: reason,
			Detail: fmt.Sprintf("c%d in attempt %d, which has the node of event %d", e.Process,
				had.attempt,
				had.node),
		}
	}
	switch {
	case had.reenterFailed != 0 && e.Kind != Lost && e.Kind != Crashed && e.Kind != NodeDeleted:
		return violation(reasonRefusal, had.reenterFailed)
	case e.Kind == NodeDeleted && !had.unlocking && !had.notified:
		if n := q.live(e.Path); n >= 0 && q.nodes[n].created == had.node {
			m.suspect, m.zxid = violation(reasonTooSoon, i), e.Zxid
		}
	case e.Kind == UnlockReturn && e.Err == "" && e.Attempt == had.attempt && !had.deleted:
		return violation(reasonTooLate, i)
	}
	return nil
}
