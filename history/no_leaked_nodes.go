package history

import (
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"
)

const reasonOrphan = "an ephemeral node outlived its creator's interest in the lock"

// An ephemeralNode is a node that lives as long as its session.
type ephemeralNode struct {
	path    string
	session int64
	process int32
	index   int // of its creation
}

// An interest is what a process has in the lock: from the call of Lock until Lock fails or Unlock
// returns.
type interest struct {
	process int32
	attempt int32 // the one that is open, 0 for none
	ended   int   // the index of the event that ended the last one
}

// CheckNoLeakedNodes decides [NoLeakedNodes]: no node is left that keeps the lock from others and
// that nobody will ever delete.
//
// The property holds if at the end of the history there is no live ephemeral node whose session
// goes on, and whose creator has neither crashed nor an open interest in the lock. An interest is
// open from the call of Lock until it returns an error, or until Unlock returns, even if with an
// error: whoever gives back the lock has no further reason to keep a node. A crashed process is
// apart, because the end of its session will delete what it left. The event of the violation is the
// one since which the node has been an orphan: the end of its creator's last interest, or its own
// creation if that came later.
//
// It takes time linear in the events, times the number of nodes that are live at once and of
// processes.
func CheckNoLeakedNodes(events []Event) *Violation {
	return decide(NoLeakedNodes, new(leakedNodeMonitor), events)
}

type leakedNodeMonitor struct {
	nodes         []ephemeralNode // that are live
	interests     []interest
	crashed       []int32
	endedSessions []int64 // the sessions that have ended
}

func (m *leakedNodeMonitor) reset() {
	m.nodes, m.interests, m.crashed, m.endedSessions = m.nodes[:0], m.interests[:0], m.crashed[:0],
		m.endedSessions[:0]
}

func (m *leakedNodeMonitor) copy(from monitor) {
	other := from.(*leakedNodeMonitor)
	m.nodes, m.interests = append(m.nodes[:0], other.nodes...),
		append(m.interests[:0], other.interests...)
	m.crashed, m.endedSessions = append(m.crashed[:0], other.crashed...),
		append(m.endedSessions[:0], other.endedSessions...)
}

// state does not depend on the order of nodes, nor on when an interest ended: these decide which
// node a violation names, and at which event.
func (m *leakedNodeMonitor) state(_ *queue, s *State) {
	nodes, open := uint64(0), uint64(0)
	for i := range m.nodes {
		if n := &m.nodes[i]; !slices.Contains(m.crashed, n.process) &&
			!slices.Contains(m.endedSessions, n.session) {
			nodes += fold(xxhash.Sum64String(n.path), uint64(n.process))
		}
	}
	for _, in := range m.interests {
		if in.attempt != 0 && !slices.Contains(m.crashed, in.process) {
			open += scatter(uint64(uint32(in.process))<<32 | uint64(uint32(in.attempt)))
		}
	}
	s.fold(nodes, open)
}

// visible: in what order interests end and nodes go makes no difference.
func (m *leakedNodeMonitor) visible(*queue, *Event) bool { return false }

func (m *leakedNodeMonitor) observe(_ *queue, log []Event, i int) *Violation {
	e := &log[i]
	switch e.Kind {
	case NodeCreated:
		if e.Session != 0 {
			m.nodes = append(m.nodes, ephemeralNode{e.Path, e.Session, e.Process, i})
		}
	case NodeDeleted:
		m.nodes = withoutEphemeral(m.nodes, e.Path)
	case LockCall, LockReturn, UnlockReturn:
		m.interests = updateInterests(m.interests, e, i)
	case Crashed:
		m.crashed = append(m.crashed, e.Process)
	case SessionExpired, SessionClosed:
		m.endedSessions = append(m.endedSessions, e.Session)
	}
	return nil
}

func (m *leakedNodeMonitor) finish(*queue, []Event) *Violation {
	for n := range m.nodes {
		if v := m.judge(&m.nodes[n]); v != nil {
			return v
		}
	}
	return nil
}

func (m *leakedNodeMonitor) judge(n *ephemeralNode) *Violation {
	since := n.index
	for _, in := range m.interests {
		if in.process == n.process {
			if in.attempt != 0 {
				return nil
			}
			since = max(since, in.ended)
		}
	}
	if slices.Contains(m.crashed, n.process) || slices.Contains(m.endedSessions, n.session) {
		return nil
	}
	return &Violation{
		Property: NoLeakedNodes, Event: since, Reason: reasonOrphan,
		Detail: fmt.Sprintf("%s of c%d, created by event %d, is live at the end", n.path, n.process,
			n.index),
	}
}

// updateInterests opens or ends an interest. The end of an older attempt does not end a newer one.
func updateInterests(interests []interest, e *Event, i int) []interest {
	for n := range interests {
		in := &interests[n]
		if in.process != e.Process {
			continue
		}
		if e.Kind == LockCall {
			in.attempt = e.Attempt
		} else if in.attempt == e.Attempt && (e.Kind == UnlockReturn || e.Err != "") {
			in.attempt, in.ended = 0, i
		}
		return interests
	}
	if e.Kind == LockCall {
		interests = append(interests, interest{process: e.Process, attempt: e.Attempt})
	}
	return interests
}

func withoutEphemeral(nodes []ephemeralNode, path string) []ephemeralNode {
	for n := range nodes {
		if nodes[n].path == path {
			return append(nodes[:n], nodes[n+1:]...)
		}
	}
	return nodes
}
