package check

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// A linearizableMonitor decides [history.Linearizable] event by event, and gives a search the state
// to compare. [LinearizableChecker] gives the verdict on a history; a test checks that the two
// agree.
//
// The operations of [LinearizableChecker.Check] are linearizable, for a lock that one process holds
// at a time, if and only if their shortest possible tenures are disjoint: an acquire takes effect
// as late, and a release as early, as possible. So the tenure of a grant lasts
//   - from the return of Lock until its node is deleted or Unlock is called, whichever is first;
//   - forever, if its node is known and never deleted, even if Unlock is called;
//   - only for the instant of the deletion of its node, if that precedes the return of Lock.
//
// If no node is known, the call of Unlock ends the tenure.
//
// Tenures in shared mode may overlap one another. Of a lock with several places, that number of
// tenures may overlap; a crowd is an overlap of more, if enough of them last forever.
type linearizableMonitor struct {
	config       *monitorConfig
	tenures      []tenure
	instantHolds []instantHold
	crowds       []crowd // only of a lock with several places
}

// A crowd is the tenures for which Unlock had been called when another process held the lock. It is
// a violation if more of their nodes are never deleted than there were places left.
type crowd struct {
	left  int
	nodes []int // the indexes of their creations; the slice never changes
}

// A tenure is a grant that holds the lock, or that may turn out to hold it forever.
type tenure struct {
	process, attempt int32
	shared           bool
	node             int    // the index of the creation of its node, -1 if unknown
	path             string // of the node
	unlockCalled     bool   // the tenure ended with the call, if the node is deleted later
	// another grant held the lock since: a violation if the node is not deleted
	overlapped bool
}

// An instantHold is a node that was deleted while the attempt that created it was open. If the
// attempt is granted the lock by the node, it held the lock at that instant only.
type instantHold struct {
	node     int
	excluded bool // other grants held the lock then and left no place
	left     int  // with several places: how many were left
	// the nodes of the tenures for which Unlock had been called then, by the indexes of their
	// creations
	unlockCalled []int
}

func (m *linearizableMonitor) reset() {
	m.tenures, m.instantHolds, m.crowds = m.tenures[:0], m.instantHolds[:0], m.crowds[:0]
}

func (m *linearizableMonitor) copy(from monitor) {
	other := from.(*linearizableMonitor)
	m.tenures = append(m.tenures[:0], other.tenures...)
	m.instantHolds = append(m.instantHolds[:0], other.instantHolds...) // Their slices never change.
	m.crowds = append(m.crowds[:0], other.crowds...)
}

func (m *linearizableMonitor) state(q *queue, s *State) {
	sum := uint64(0)
	for i := range m.tenures {
		t := &m.tenures[i]
		h := fold(uint64(uint32(t.process))<<32|uint64(uint32(t.attempt)),
			bit(t.unlockCalled, 0)|bit(t.overlapped, 1)|bit(t.node >= 0, 2)|bit(t.shared, 3))
		sum += fold(h, s.text(t.path))
	}
	s.fold(sum, 0)
	for i := range m.instantHolds {
		g := &m.instantHolds[i]
		n := slices.IndexFunc(q.Nodes,
			func(n history.QueueNode) bool { return n.Created == g.node })
		if n < 0 || s.ended(q.Nodes[n].Process) {
			continue
		}
		s.fold(s.text(q.Nodes[n].Path), bit(g.excluded, 0)|uint64(g.left)<<1)
		if g.excluded {
			continue
		}
		for j := range m.tenures {
			if t := &m.tenures[j]; t.unlockCalled && !t.overlapped &&
				slices.Contains(g.unlockCalled, t.node) {
				s.fold(uint64(t.process), s.text(t.path))
			}
		}
	}
	if len(m.crowds) == 0 {
		return
	}
	sum = 0
	for _, one := range m.crowds {
		members := uint64(0)
		for _, t := range m.tenures {
			if slices.Contains(one.nodes, t.node) {
				members += fold(uint64(t.process), s.text(t.path))
			}
		}
		sum += fold(members, uint64(one.left))
	}
	s.fold(sum, 0)
}

// freedom: an earlier grant or a later unlock makes the tenure longer.
func (m *linearizableMonitor) freedom(q *queue, e *history.Event) freedom {
	return queueFreedom(q, e)
}

func (m *linearizableMonitor) observe(q *queue, log []history.Event, i int) *history.Violation {
	switch e := &log[i]; e.Kind {
	case history.LockReturn:
		if e.Err == "" && e.Process != 0 && !m.grant(q, e) {
			return m.violation(e, i)
		}
		m.forget(q, e.Process)
	case history.UnlockCall:
		m.unlock(e)
	case history.NodeDeleted:
		m.delete(q, e.Path)
	}
	return nil
}

func (m *linearizableMonitor) violation(e *history.Event, i int) *history.Violation {
	return &history.Violation{
		Property: history.Linearizable, Event: i, Reason: ReasonNoOrder,
		Detail:   "more grants held the lock at once than it admits",
		Evidence: history.Evidence{Process: e.Process},
	}
}

// grant records a grant, and reports whether no other grant held the lock at the same time.
func (m *linearizableMonitor) grant(q *queue, e *history.Event) bool {
	n := q.Granted(e)
	if n >= 0 && q.Nodes[n].Deleted != 0 {
		g := slices.IndexFunc(m.instantHolds,
			func(g instantHold) bool { return g.node == q.Nodes[n].Created })
		if m.instantHolds[g].excluded {
			return false
		}
		if !m.config.solitary() {
			m.crowd(m.instantHolds[g].left, m.instantHolds[g].unlockCalled)
			return true
		}
		for t := range m.tenures {
			m.tenures[t].overlapped = m.tenures[t].overlapped ||
				slices.Contains(m.instantHolds[g].unlockCalled, m.tenures[t].node)
		}
		return true
	}
	if excluded, left, unlockCalled := m.beside(e.Shared(), -1); excluded {
		return false
	} else if !m.config.solitary() {
		m.crowd(left, unlockCalled)
	} else {
		for t := range m.tenures {
			s := &m.tenures[t]
			s.overlapped = s.overlapped || !(s.shared && e.Shared())
		}
	}
	newTenure := tenure{process: e.Process, attempt: e.Attempt, shared: e.Shared(), node: -1}
	if n >= 0 {
		newTenure.node, newTenure.path = q.Nodes[n].Created, q.Nodes[n].Path
	}
	m.tenures = append(m.tenures, newTenure)
	return true
}

// beside returns what a grant in the given mode finds now, apart from tenures by its own node:
// whether others exclude it, how many places they leave it besides its own, and the nodes of the
// tenures that ended if their nodes are deleted later.
func (m *linearizableMonitor) beside(shared bool, own int) (excluded bool, left int,
	unlockCalled []int,
) {
	exclusive, sharing := 0, 0
	for t := range m.tenures {
		switch s := &m.tenures[t]; {
		case !s.unlockCalled:
			exclusive, sharing = counted(s.shared, exclusive, sharing)
		case s.node != own && !(shared && s.shared) && (own >= 0 || !m.config.solitary()):
			unlockCalled = append(unlockCalled, s.node)
		}
	}
	if !m.config.limits.Admits(shared, exclusive, sharing) {
		return true, 0, unlockCalled
	}
	if m.config.solitary() {
		return false, 0, unlockCalled
	}
	return false, m.config.limits.Places - 1 - exclusive, unlockCalled
}

// crowd records how many places tenures that may last forever had left.
func (m *linearizableMonitor) crowd(left int, nodes []int) {
	m.crowds = append(m.crowds, crowd{left, nodes})
	m.disperse()
}

// disperse drops the crowds for which there are places enough, even if all of their nodes that
// exist are never deleted.
func (m *linearizableMonitor) disperse() {
	m.crowds = slices.DeleteFunc(m.crowds, func(c crowd) bool {
		forever := 0
		for t := range m.tenures {
			if slices.Contains(c.nodes, m.tenures[t].node) {
				forever++
			}
		}
		return forever <= c.left
	})
}

// forget drops the instantHolds of the process's attempt, which has returned.
func (m *linearizableMonitor) forget(q *queue, process int32) {
	m.instantHolds = slices.DeleteFunc(m.instantHolds, func(g instantHold) bool {
		return slices.ContainsFunc(q.Nodes, func(n history.QueueNode) bool {
			return n.Created == g.node &&
				n.Process == process
		})
	})
}

func (m *linearizableMonitor) unlock(e *history.Event) {
	for t := len(m.tenures) - 1; t >= 0; t-- {
		s := &m.tenures[t]
		if s.process != e.Process || s.attempt != e.Attempt {
			continue
		}
		if s.node < 0 {
			m.tenures = slices.Delete(m.tenures, t, t+1)
		} else {
			s.unlockCalled = true
		}
		return
	}
}

func (m *linearizableMonitor) delete(q *queue, path string) {
	n := q.Live(path)
	if n < 0 {
		return
	}
	node := q.Nodes[n].Created
	if q.Nodes[n].Waiting {
		g := instantHold{node: node}
		g.excluded, g.left, g.unlockCalled = m.beside(q.Nodes[n].Shared, node)
		m.instantHolds = append(m.instantHolds, g)
	}
	m.tenures = slices.DeleteFunc(m.tenures, func(s tenure) bool { return s.node == node })
	m.disperse()
}

// finish reports an overlap with a tenure whose node was never deleted.
func (m *linearizableMonitor) finish(log []history.Event) *history.Violation {
	if len(m.crowds) > 0 ||
		slices.ContainsFunc(m.tenures, func(s tenure) bool { return s.overlapped }) {
		return m.violation(&log[len(log)-1], len(log)-1)
	}
	return nil
}
