package check

import (
	"fmt"
	"slices"

	"github.com/interlock-sim/interlock/history"
)

const reasonOutlived = "a lease stood after the client library had said that the session was over"

// How go-zookeeper/zk reports that a session has ended.
const (
	expiredState = "expired"
	expiredError = "zk: session has been expired by the server"
)

// SessionLoss decides [history.SessionLoss]: a lease ends as soon as the client library has
// reported that its session has ended.
//
// A lease lasts from a grant until its process is notified of the loss, calls Unlock or crashes. An
// event of the property is such a report: a WatchEvent with the error of an expired session on the
// node of the grant, or, for a lock that [history.Limits.Listens], the session state "expired". The
// lease has ended by the next event that is neither a report of the same client library nor a reply
// to the process.
//
// The property does not cover the lease of a client whose node has no watch, which receives no
// report, unless the lock listens.
//
// The check takes time linear in the events, times the number of leases at once.
func SessionLoss(events []history.Event, listens bool) *history.Violation {
	return decide(history.SessionLoss, &sessionMonitor{limits: &history.Limits{Listens: listens}},
		events)
}

// A lease is a lease that has not ended.
type lease struct {
	process      int32
	path         string // of its node, empty if unknown
	sessionEnded bool   // the client library has reported that its session has ended
}

type sessionMonitor struct {
	limits *history.Limits
	leases []lease // at most one for each process
	ended  int     // the number of leases with sessionEnded
}

func (m *sessionMonitor) reset() { m.leases, m.ended = m.leases[:0], 0 }

func (m *sessionMonitor) copy(from monitor) {
	other := from.(*sessionMonitor)
	m.leases, m.ended = append(m.leases[:0], other.leases...), other.ended
}

func (m *sessionMonitor) finish([]history.Event) *history.Violation { return nil }

// state folds in the leases as a set.
func (m *sessionMonitor) state(_ *queue, s *State) {
	sum := uint64(0)
	for i := range m.leases {
		if l := &m.leases[i]; !s.ended(l.process) {
			sum += fold(s.text(l.path), uint64(uint32(l.process))<<1|bit(l.sessionEnded,
				0))
		}
	}
	s.fold(sum, 0)
}

// leaseKinds holds the kinds of events that change a lease. Any other may only be the first after a
// report.
const leaseKinds = 1<<history.LockReturn | 1<<history.Lost | 1<<history.UnlockCall |
	1<<history.Crashed | 1<<history.SessionState | 1<<history.WatchEvent

// freedom: if the end of a lease comes later, the lease outlives its session for longer. A grant
// without a path is by a node that other processes can delete before it. Any other event matters by
// its presence alone, as the first after a report, and another one follows in its place: at the
// latest, the server handles the handshake by which the client opens its next session.
func (m *sessionMonitor) freedom(q *queue, e *history.Event) freedom {
	switch e.Kind {
	case history.Lost, history.UnlockCall:
		l := m.find(e.Process)
		return later | free(l < 0 || !m.leases[l].sessionEnded, sooner)
	case history.LockReturn:
		return queueFreedom(q, e)
	case history.Crashed, history.SessionState, history.WatchEvent:
		return anywhere
	}
	return free(leaseKinds>>e.Kind&1 == 0, anywhere)
}

func (m *sessionMonitor) observe(q *queue, log []history.Event, i int) *history.Violation {
	e := &log[i]
	if m.ended > 0 {
		for l := range m.leases {
			if one := &m.leases[l]; one.sessionEnded && !sameStep(one.process, e) {
				return &history.Violation{
					Property: history.SessionLoss, Event: i, Reason: reasonOutlived,
					Detail: fmt.Sprintf("the lease of c%d had not ended at this event",
						one.process),
					Evidence: history.Evidence{Process: one.process},
				}
			}
		}
	}
	if leaseKinds>>e.Kind&1 == 0 {
		return nil
	}
	switch e.Kind {
	case history.LockReturn:
		m.grant(q, e)
	case history.Lost, history.UnlockCall, history.Crashed:
		m.end(e.Process)
	case history.SessionState:
		if e.Name == expiredState && m.limits.Listens {
			m.markEnded(e.Process, "")
		}
	case history.WatchEvent:
		if e.Err == expiredError {
			m.markEnded(e.Process, e.Path)
		}
	}
	return nil
}

// sameStep reports whether an event can belong to the step in which the client library reports the
// end of the session to the process: other reports and requests of the library, and the returns of
// calls.
func sameStep(process int32, e *history.Event) bool {
	const stepKinds = 1<<history.SessionState | 1<<history.WatchEvent | 1<<history.WatchGone |
		1<<history.Reply | 1<<history.Send |
		1<<history.ReenterReturn | 1<<history.Exited | 1<<history.UnlockCall | 1<<history.Lost |
		1<<history.Crashed
	return e.Process == process && stepKinds>>e.Kind&1 != 0
}

func (m *sessionMonitor) find(process int32) int {
	return slices.IndexFunc(m.leases, func(l lease) bool { return l.process == process })
}

// grant adds a lease.
func (m *sessionMonitor) grant(q *queue, e *history.Event) {
	if e.Err != "" {
		return
	}
	m.end(e.Process)
	path := e.Path
	if n := q.Granted(e); n >= 0 {
		path = q.Nodes[n].Path
	}
	m.leases = append(m.leases, lease{process: e.Process, path: path})
}

func (m *sessionMonitor) end(process int32) {
	l := m.find(process)
	if l < 0 {
		return
	}
	if m.leases[l].sessionEnded {
		m.ended--
	}
	m.leases = slices.Delete(m.leases, l, l+1)
}

// markEnded records that the client library has reported the end of the process's session, by the
// watch on a node or, if the path is empty, by a session state.
func (m *sessionMonitor) markEnded(process int32, path string) {
	l := m.find(process)
	if l < 0 || m.leases[l].sessionEnded || path != "" && path != m.leases[l].path {
		return
	}
	m.leases[l].sessionEnded = true
	m.ended++
}
