package history

import (
	"slices"

	"github.com/cespare/xxhash/v2"
)

// An overlapMonitor decides [Linearizable] event by event, so that a search knows which memory
// tells states apart. The verdict on a history is [LinearizableChecker]'s; a test holds the two to
// each other.
//
// A history of the operations that [LinearizableChecker.Check] states is one of a lock that
// processes have one at a time if and only if their shortest possible stays are disjoint: an
// acquire takes effect as late, and a release as early, as it can. So a grant has the lock
//   - from the return of Lock until its node is deleted or Unlock is called, whichever comes first;
//   - for ever, if its node is known and never deleted, even if Unlock is called;
//   - at the instant at which its node is deleted, if that comes before Lock returns.
//
// Where no node is known, only the call of Unlock ends a stay.
type overlapMonitor struct {
	stays    []lockStay
	glimpses []glimpse
}

// A lockStay is a grant that has the lock, or may turn out to have it for ever.
type lockStay struct {
	process, attempt int32
	node             int    // the index of the creation of its node, -1 if none is known
	path             string // of that node
	renounced        bool   // Unlock was called; the stay is over if the node is deleted yet
	// another grant had the lock since, which is wrong if the node is never deleted
	overlapped bool
}

// A glimpse is a node that was deleted while the attempt that created it was open. If that attempt
// is granted the lock by it, it had the lock at that instant alone.
type glimpse struct {
	node     int
	excluded bool // another grant had the lock then
	// the nodes of grants that had been renounced then, by the indexes of their creations
	renounced []int
}

func (m *overlapMonitor) reset() { m.stays, m.glimpses = m.stays[:0], m.glimpses[:0] }

func (m *overlapMonitor) copy(from monitor) {
	other := from.(*overlapMonitor)
	m.stays = append(m.stays[:0], other.stays...)
	m.glimpses = append(m.glimpses[:0], other.glimpses...) // Their slices never change.
}

func (m *overlapMonitor) state(q *queue, s *State) {
	sum := uint64(0)
	for i := range m.stays {
		t := &m.stays[i]
		h := fold(uint64(uint32(t.process))<<32|uint64(uint32(t.attempt)),
			bit(t.renounced, 0)|bit(t.overlapped, 1)|bit(t.node >= 0, 2))
		sum += fold(h, xxhash.Sum64String(t.path))
	}
	s.fold(sum, 0)
	for i := range m.glimpses {
		g := &m.glimpses[i]
		n := slices.IndexFunc(q.nodes, func(n node) bool { return n.created == g.node })
		if n < 0 || s.ended(q.nodes[n].process) {
			continue
		}
		s.fold(xxhash.Sum64String(q.nodes[n].path), bit(g.excluded, 0))
		if g.excluded {
			continue
		}
		for j := range m.stays {
			if t := &m.stays[j]; t.renounced && !t.overlapped &&
				slices.Contains(g.renounced, t.node) {
				s.fold(uint64(t.process), xxhash.Sum64String(t.path))
			}
		}
	}
}

// visible: a grant that comes sooner, and an unlock that comes later, overlap more.
func (m *overlapMonitor) visible(q *queue, e *Event) bool {
	return e.Kind == UnlockCall || e.Kind == LockReturn && !q.settled(e)
}

func (m *overlapMonitor) observe(q *queue, log []Event, i int) *Violation {
	switch e := &log[i]; e.Kind {
	case LockReturn:
		if e.Err == "" && e.Process != 0 && !m.grant(q, e) {
			return m.violation(i)
		}
		m.forget(q, e.Process)
	case UnlockCall:
		m.unlock(e)
	case NodeDeleted:
		m.delete(q, e.Path)
	}
	return nil
}

func (m *overlapMonitor) violation(i int) *Violation {
	return &Violation{
		Property: Linearizable, Event: i, Reason: reasonNoOrder,
		Detail: "two grants had the lock at once",
	}
}

// grant takes note of a grant, and reports whether nobody else had the lock when it had it.
func (m *overlapMonitor) grant(q *queue, e *Event) bool {
	n := q.granted(e)
	if n >= 0 && q.nodes[n].deleted != 0 {
		g := slices.IndexFunc(m.glimpses,
			func(g glimpse) bool { return g.node == q.nodes[n].created })
		if m.glimpses[g].excluded {
			return false
		}
		for t := range m.stays {
			m.stays[t].overlapped = m.stays[t].overlapped ||
				slices.Contains(m.glimpses[g].renounced, m.stays[t].node)
		}
		return true
	}
	for t := range m.stays {
		if !m.stays[t].renounced {
			return false
		}
		m.stays[t].overlapped = true
	}
	stay := lockStay{process: e.Process, attempt: e.Attempt, node: -1}
	if n >= 0 {
		stay.node, stay.path = q.nodes[n].created, q.nodes[n].path
	}
	m.stays = append(m.stays, stay)
	return true
}

// forget drops the glimpses of the process's attempt, which has returned.
func (m *overlapMonitor) forget(q *queue, process int32) {
	m.glimpses = slices.DeleteFunc(m.glimpses, func(g glimpse) bool {
		return slices.ContainsFunc(q.nodes, func(n node) bool {
			return n.created == g.node &&
				n.process == process
		})
	})
}

func (m *overlapMonitor) unlock(e *Event) {
	for t := len(m.stays) - 1; t >= 0; t-- {
		s := &m.stays[t]
		if s.process != e.Process || s.attempt != e.Attempt {
			continue
		}
		if s.node < 0 {
			m.stays = slices.Delete(m.stays, t, t+1)
		} else {
			s.renounced = true
		}
		return
	}
}

func (m *overlapMonitor) delete(q *queue, path string) {
	n := q.live(path)
	if n < 0 {
		return
	}
	node := q.nodes[n].created
	if q.nodes[n].waiting {
		g := glimpse{node: node}
		for t := range m.stays {
			switch s := &m.stays[t]; {
			case !s.renounced:
				g.excluded = true
			case s.node != node:
				g.renounced = append(g.renounced, s.node)
			}
		}
		m.glimpses = append(m.glimpses, g)
	}
	m.stays = slices.DeleteFunc(m.stays, func(s lockStay) bool { return s.node == node })
}

// finish decides what becomes of grants whose nodes were never deleted.
func (m *overlapMonitor) finish(_ *queue, log []Event) *Violation {
	if slices.ContainsFunc(m.stays, func(s lockStay) bool { return s.overlapped }) {
		return m.violation(len(log) - 1)
	}
	return nil
}
