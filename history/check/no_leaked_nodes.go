package check

import (
	"fmt"
	"slices"

	"github.com/interlock-sim/interlock/history"
)

const reasonOrphan = "an ephemeral node outlived its creator's interest in the lock"

// An ephemeralNode is a live ephemeral node.
type ephemeralNode struct {
	path    string
	session int64
	process int32
	index   int // of its creation
}

// An interest is the period in which a process uses the lock: from the call of Lock until Lock
// returns an error or Unlock returns.
type interest struct {
	process int32
	attempt int32 // the open one, or 0
	ended   int   // the index of the event that ended the last one
}

// NoLeakedNodes decides [history.NoLeakedNodes]: no process that is done with the lock leaves a
// node that keeps the lock from others.
//
// An event of the property is an ephemeral node that is live at the end of the history, with its
// session. Its creator has an open interest in the lock: a call of Lock that has not returned an
// error and whose Unlock has not returned. Unlock ends the interest even if it returns an error.
// The event of a violation is the one since which the node is leaked: the end of the creator's last
// interest, or the creation of the node if that is later.
//
// The property does not cover the nodes of crashed processes, which are deleted when their sessions
// end.
//
// The check takes time linear in the events, times the number of live nodes and of processes.
func NoLeakedNodes(events []history.Event) *history.Violation {
	return decide(history.NoLeakedNodes, new(leakedNodeMonitor), events)
}

type leakedNodeMonitor struct {
	nodes         []ephemeralNode
	interests     []interest // at most one for each process
	crashed       []int32
	endedSessions []int64
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

// state does not fold in the order of nodes, nor when interests ended: these only decide which node
// a violation names, and at which event.
func (m *leakedNodeMonitor) state(_ *queue, s *State) {
	nodes, open := uint64(0), uint64(0)
	for i := range m.nodes {
		if n := &m.nodes[i]; !slices.Contains(m.crashed, n.process) &&
			!slices.Contains(m.endedSessions, n.session) {
			nodes += fold(s.text(n.path), uint64(n.process))
		}
	}
	for _, in := range m.interests {
		if in.attempt != 0 && !slices.Contains(m.crashed, in.process) {
			open += scatter(uint64(uint32(in.process))<<32 | uint64(uint32(in.attempt)))
		}
	}
	s.fold(nodes, open)
}

// freedom: the end decides, and the order in which interests end and nodes are deleted does not
// matter.
func (m *leakedNodeMonitor) freedom(*queue, *history.Event) freedom { return anywhere }

func (m *leakedNodeMonitor) observe(_ *queue, log []history.Event, i int) *history.Violation {
	e := &log[i]
	switch e.Kind {
	case history.NodeCreated:
		if e.Session != 0 {
			m.nodes = append(m.nodes, ephemeralNode{e.Path, e.Session, e.Process, i})
		}
	case history.NodeDeleted:
		m.nodes = withoutEphemeral(m.nodes, e.Path)
	case history.LockCall, history.LockReturn, history.UnlockReturn:
		m.interests = updateInterests(m.interests, e, i)
	case history.Crashed:
		m.crashed = append(m.crashed, e.Process)
	case history.SessionExpired, history.SessionClosed:
		m.endedSessions = append(m.endedSessions, e.Session)
	}
	return nil
}

func (m *leakedNodeMonitor) finish([]history.Event) *history.Violation {
	for n := range m.nodes {
		if v := m.check(&m.nodes[n]); v != nil {
			return v
		}
	}
	return nil
}

func (m *leakedNodeMonitor) check(n *ephemeralNode) *history.Violation {
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
	return &history.Violation{
		Property: history.NoLeakedNodes, Event: since, Reason: reasonOrphan,
		Detail: fmt.Sprintf("%s of c%d, created by event %d, is live at the end", n.path, n.process,
			n.index),
		Evidence: history.Evidence{Process: n.process, Path: n.path, Events: []int{n.index}},
	}
}

// updateInterests opens or ends an interest. The end of an older attempt does not end a newer one.
func updateInterests(interests []interest, e *history.Event, i int) []interest {
	for n := range interests {
		in := &interests[n]
		if in.process != e.Process {
			continue
		}
		if e.Kind == history.LockCall {
			in.attempt = e.Attempt
		} else if in.attempt == e.Attempt && (e.Kind == history.UnlockReturn || e.Err != "") {
			in.attempt, in.ended = 0, i
		}
		return interests
	}
	if e.Kind == history.LockCall {
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
