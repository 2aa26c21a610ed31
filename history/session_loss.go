package history

import (
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"
)

const reasonOutlived = "a lease stood after the client library had said that the session was over"

// What a client library says of a session that is over, as go-zookeeper/zk words it.
const (
	expiredState = "expired"
	expiredError = "zk: session has been expired by the server"
)

// CheckSessionLoss decides [SessionLoss]: no lease stands once the client library has said that its
// session is over.
//
// A lease stands from a grant until its process is told of the loss, calls Unlock or crashes. The
// client library says that the session is over by a WatchEvent with that error on the node by which
// the lock was granted, and, to a lock that [Bounds.Listens], by the state "expired". The property
// holds if such a lease ends before anything else happens: the next event that is neither a word of
// that client library nor an answer to that process must not find the lease standing.
//
// A client whose node is not watched is told nothing, so nothing is demanded of its lease, unless
// the lock listens.
//
// It takes time linear in the events, times the number of leases that stand at once.
func CheckSessionLoss(events []Event, listens bool) *Violation {
	return decide(SessionLoss, &sessionMonitor{limits: &Limits{Listens: listens}}, events)
}

// A lease is a lease that stands.
type lease struct {
	process      int32
	path         string // of its node, empty if none is known
	sessionEnded bool   // the client library has said that its session is over
}

type sessionMonitor struct {
	limits *Limits
	leases []lease // at most one for each process
	ended  int     // of how many of them the session is over
}

func (m *sessionMonitor) reset() { m.leases, m.ended = m.leases[:0], 0 }

func (m *sessionMonitor) copy(from monitor) {
	other := from.(*sessionMonitor)
	m.leases, m.ended = append(m.leases[:0], other.leases...), other.ended
}

func (m *sessionMonitor) finish(*queue, []Event) *Violation { return nil }

// state: the leases stand in no order.
func (m *sessionMonitor) state(_ *queue, s *State) {
	sum := uint64(0)
	for i := range m.leases {
		if l := &m.leases[i]; !s.ended(l.process) {
			sum += fold(xxhash.Sum64String(l.path), uint64(uint32(l.process))<<1|bit(l.sessionEnded,
				0))
		}
	}
	s.fold(sum, 0)
}

// visible: a lease whose session is over stands for longer if what ends it comes later. A grant
// without a path is by a node that others can delete before.
func (m *sessionMonitor) visible(q *queue, e *Event) bool {
	switch e.Kind {
	case Lost, UnlockCall:
		l := m.find(e.Process)
		return l >= 0 && m.leases[l].sessionEnded
	case LockReturn:
		return !q.grantIsLocal(e)
	}
	return false
}

func (m *sessionMonitor) observe(q *queue, log []Event, i int) *Violation {
	e := &log[i]
	if m.ended > 0 {
		for l := range m.leases {
			if one := &m.leases[l]; one.sessionEnded && !sameStep(one.process, e) {
				return &Violation{
					Property: SessionLoss, Event: i, Reason: reasonOutlived,
					Detail: fmt.Sprintf("the lease of c%d stood when this happened", one.process),
				}
			}
		}
	}
	switch e.Kind {
	case LockReturn:
		m.grant(q, e)
	case Lost, UnlockCall, Crashed:
		m.end(e.Process)
	case SessionState:
		if e.Name == expiredState && m.limits.Listens {
			m.markEnded(e.Process, "")
		}
	case WatchEvent:
		if e.Err == expiredError {
			m.markEnded(e.Process, e.Path)
		}
	}
	return nil
}

// sameStep reports whether an event can belong to the step in which the client library has told the
// process, before the end of its lease is known: what the library says and sends besides, and what
// calls that it answers return.
func sameStep(process int32, e *Event) bool {
	const before = 1<<SessionState | 1<<WatchEvent | 1<<WatchGone | 1<<Reply | 1<<Send | 1<<ReenterReturn | 1<<Exited |
		1<<UnlockCall | 1<<Lost | 1<<Crashed
	return e.Process == process && before>>e.Kind&1 != 0
}

func (m *sessionMonitor) find(process int32) int {
	return slices.IndexFunc(m.leases, func(l lease) bool { return l.process == process })
}

// grant takes note of a lease.
func (m *sessionMonitor) grant(q *queue, e *Event) {
	if e.Err != "" {
		return
	}
	m.end(e.Process)
	path := e.Path
	if n := q.granted(e); n >= 0 {
		path = q.nodes[n].path
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

// markEnded takes note that the client library has said that the process's session is over, by the
// watch on a node or, where the path is empty, by its state.
func (m *sessionMonitor) markEnded(process int32, path string) {
	l := m.find(process)
	if l < 0 || m.leases[l].sessionEnded || path != "" && path != m.leases[l].path {
		return
	}
	m.leases[l].sessionEnded = true
	m.ended++
}
