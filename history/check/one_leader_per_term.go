package check

import (
	"fmt"
	"slices"

	"github.com/interlock-sim/interlock/history"
)

const (
	reasonNotElected = "a process saw a leader that was never elected"
	reasonTwoLeaders = "a term has two leaders"
	reasonTwoTerms   = "a leader has two terms at once"
	reasonWrongName  = "a process saw a leader under another's name"
	reasonNoLeader   = "a leader saw that nobody leads"
)

// leaderKinds holds the kinds of events that elect a leader, or show one.
const leaderKinds = 1<<history.LockReturn | 1<<history.NodeCreated | 1<<history.NodeDeleted |
	1<<history.Observed

// OneLeaderPerTerm decides [history.OneLeaderPerTerm] for an election, whose candidates queue by
// ephemeral nodes. A process leads from when Lock returns until it calls Unlock or its node is
// deleted. The term is its fencing token.
//
// An event of the property is an Observed, or the return of a call of Lock with a token.
//   - The observed node was elected: it was, at some time before, the earliest live ephemeral node
//     of its directory.
//   - The leader's name is that of the process that created the node.
//   - All events with the same term are of the same node, and all of the same node have the same
//     term.
//   - A process that leads does not observe that nobody does.
//
// Source: the third is Election Safety of D. Ongaro and J. Ousterhout, In Search of an
// Understandable Consensus Algorithm, USENIX ATC 2014; the queue takes the place of votes.
//
// The check takes time linear in the events, times the number of live nodes and of elected ones.
func OneLeaderPerTerm(events []history.Event) *history.Violation {
	return decide(history.OneLeaderPerTerm, new(leaderMonitor), events)
}

// An electedNode is a node that has been the earliest of its directory.
type electedNode struct {
	path    string
	zxid    int64 // of its creation
	process int32 // its creator
	term    int64 // 0 before it is known
}

type leaderMonitor struct{ elected []electedNode }

func (m *leaderMonitor) reset() { m.elected = m.elected[:0] }

func (m *leaderMonitor) copy(from monitor) {
	m.elected = append(m.elected[:0], from.(*leaderMonitor).elected...)
}

func (m *leaderMonitor) finish([]history.Event) *history.Violation { return nil }

func (m *leaderMonitor) state(_ *queue, s *State) {
	sum := uint64(0)
	for i := range m.elected {
		n := &m.elected[i]
		sum += fold(fold(s.text(n.path), uint64(n.zxid)),
			fold(uint64(n.process), uint64(n.term)))
	}
	s.fold(sum, 0)
}

// freedom: whether a leader was elected before it is seen depends on the order, and so does which
// of two nodes with the same path it is seen by. What does not show a leader matters to the process
// itself alone.
func (m *leaderMonitor) freedom(q *queue, e *history.Event) freedom {
	switch e.Kind {
	case history.LockReturn:
		return free(e.Err != "" || e.Zxid == 0, anywhere) & queueFreedom(q, e)
	case history.LockCall, history.UnlockCall, history.UnlockReturn:
		return anywhere
	}
	return fixed
}

func (m *leaderMonitor) observe(q *queue, log []history.Event, i int) *history.Violation {
	e := &log[i]
	switch e.Kind {
	case history.NodeCreated:
		if e.Session != 0 && earliest(q, history.Directory(e.Path), -1) < 0 {
			m.elected = append(m.elected, electedNode{e.Path, e.Zxid, e.Process, 0})
		}
	case history.NodeDeleted:
		if n := q.Live(e.Path); n >= 0 {
			m.elect(q, earliest(q, history.Directory(e.Path), n))
		}
	case history.LockReturn:
		if n := q.Granted(e); n >= 0 && e.Zxid != 0 {
			if known := m.find(q.Nodes[n].Path, e.Zxid); known >= 0 {
				return m.lead(known, log, i)
			}
		}
	case history.Observed:
		return m.see(q, log, i)
	}
	return nil
}

// earliest returns the index of the earliest live ephemeral node in a directory, other than the
// given one, or -1.
func earliest(q *queue, in string, except int) int {
	for n := range q.Nodes {
		m := &q.Nodes[n]
		if n != except && m.Deleted == 0 && m.Ephemeral && m.Directory() == in {
			return n
		}
	}
	return -1
}

// elect adds a node of the queue, unless it is known or there is none.
func (m *leaderMonitor) elect(q *queue, n int) {
	if n < 0 {
		return
	}
	node := &q.Nodes[n]
	if !slices.ContainsFunc(m.elected, func(known electedNode) bool {
		return known.path == node.Path && known.zxid == node.Zxid
	}) {
		m.elected = append(m.elected, electedNode{node.Path, node.Zxid, node.Process, 0})
	}
}

// find returns the index of the latest elected node at a path, preferably that of the term, or -1.
// After the sequence numbers overflow, several nodes can have the same path.
func (m *leaderMonitor) find(path string, term int64) int {
	latest := -1
	for n := range m.elected {
		if known := &m.elected[n]; known.path == path {
			if known.term == term {
				return n
			}
			latest = n
		}
	}
	return latest
}

// lead records that an elected node leads in the term of event i.
func (m *leaderMonitor) lead(n int, log []history.Event, i int) *history.Violation {
	term, leader := log[i].Zxid, &m.elected[n]
	for o := range m.elected {
		if other := &m.elected[o]; o != n && other.term == term {
			return m.violation(log, i, reasonTwoLeaders, other.process, fmt.Sprintf(
				"term %d is that of c%d, which led by %s, and of the leader by %s", term,
				other.process, other.path, leader.path))
		}
	}
	if leader.term != 0 && leader.term != term {
		return m.violation(log, i, reasonTwoTerms, leader.process, fmt.Sprintf(
			"c%d leads in term %d by %s, by which it has led in term %d", leader.process, term,
			leader.path, leader.term))
	}
	leader.term = term
	return nil
}

// see judges what a process has observed.
func (m *leaderMonitor) see(q *queue, log []history.Event, i int) *history.Violation {
	e := &log[i]
	if e.Zxid == 0 {
		for n := range q.Nodes {
			own := &q.Nodes[n]
			if own.Holder == e.Process && own.Held() {
				return m.violation(log, i, reasonNoLeader, e.Process, fmt.Sprintf(
					"c%d observed that nobody leads, and leads itself by %s", e.Process, own.Path))
			}
		}
		return nil
	}
	n := m.find(e.Path, e.Zxid)
	if n < 0 {
		return m.violation(log, i, reasonNotElected, 0, fmt.Sprintf(
			"c%d observed %s as the leader of term %d by %s, which was never the first candidate",
			e.Process, e.Name, e.Zxid, e.Path))
	}
	if leader := m.elected[n].process; e.Name != history.ProcessName(leader) {
		return m.violation(log, i, reasonWrongName, leader, fmt.Sprintf(
			"c%d observed %s as the leader of term %d by %s, which c%d created", e.Process, e.Name,
			e.Zxid, e.Path, leader))
	}
	return m.lead(n, log, i)
}

func (m *leaderMonitor) violation(log []history.Event, i int, reason string, other int32,
	detail string,
) *history.Violation {
	e := &log[i]
	return &history.Violation{
		Property: history.OneLeaderPerTerm, Event: i, Reason: reason, Detail: detail,
		Evidence: history.Evidence{
			Process: e.Process, Other: other, Path: e.Path, Zxid: e.Zxid,
		},
	}
}

// observations counts the observations of a leader.
func observations(events []history.Event) (n int) {
	for i := range events {
		if events[i].Kind == history.Observed && events[i].Zxid != 0 {
			n++
		}
	}
	return n
}
