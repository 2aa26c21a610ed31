package check

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// A queue is the contention for locks that the events of a history show: the znodes by which
// processes contend, and the open attempts. Most properties are decided by it.
//
// The queue drops a deleted node at once, except while the attempt that created it is open: the
// grant that ends the attempt may still name it. If the history comes from a service in
// production and shows only that a process has queued with a node, the queue drops the node with
// the attempt. So the queue is as short as the number of live nodes and processes, and an event
// takes time linear in that.
type queue struct {
	nodes []node // in order of creation
	open  []openAttempt
}

// reset makes the queue that of an empty history.
func (q *queue) reset() { q.nodes, q.open = q.nodes[:0], q.open[:0] }

// copy makes the queue a copy of another.
func (q *queue) copy(from *queue) {
	q.nodes, q.open = append(q.nodes[:0], from.nodes...), append(q.open[:0], from.open...)
}

// A node is a znode by which a process contends, or by which one was granted the lock.
type node struct {
	path          string
	zxid          int64 // of its creation
	process       int32 // its creator
	ephemeral     bool
	shared        bool  // the mode of that attempt
	waiting       bool  // the attempt in which it was created has not returned
	holder        int32 // the process that was granted the lock by the node, or 0
	attempt       int32 // the attempt of the holder
	sharedHold    bool  // its mode
	unlockCalled  bool  // the holder has called Unlock for that attempt
	created       int   // the index of its creation, which distinguishes nodes of the same path
	deleted       int   // the index of its deletion, 0 while it is live
	directoryEnds int   // path[:directoryEnds] is its parent
}

// An openAttempt is a call of Lock that has not returned. A process has at most one.
type openAttempt struct {
	process int32
	shared  bool // its mode
	call    int  // the index of the LockCall
}

// queueKinds holds the kinds of events that change a queue.
const queueKinds = 1<<history.LockCall | 1<<history.LockReturn | 1<<history.UnlockCall |
	1<<history.UnlockReturn | 1<<history.NodeCreated |
	1<<history.NodeDeleted

// observe updates the queue with event i.
func (q *queue) observe(e *history.Event, i int) {
	switch e.Kind {
	case history.LockCall:
		q.open = append(withoutOpenAttempt(q.open, e.Process),
			openAttempt{e.Process, e.Shared(), i})
	case history.NodeCreated:
		o := q.openAttempt(e.Process)
		q.nodes = append(q.nodes, node{
			path: e.Path, zxid: e.Zxid, process: e.Process, ephemeral: e.Session != 0, created: i,
			waiting: o >= 0, shared: o >= 0 && q.open[o].shared,
			directoryEnds: len(history.Directory(e.Path)),
		})
	case history.NodeDeleted:
		q.delete(e.Path, i)
	case history.LockReturn:
		q.open = withoutOpenAttempt(q.open, e.Process)
		if n := q.granted(e); n >= 0 {
			q.nodes[n].holder, q.nodes[n].attempt, q.nodes[n].unlockCalled = e.Process, e.Attempt,
				false
			q.nodes[n].sharedHold = e.Shared()
		}
		q.endWaiting(e.Process)
		if e.Err != "" {
			q.dropUnobserved(e.Process, 0, 0)
		}
	case history.UnlockReturn:
		q.dropUnobserved(e.Process, e.Process, e.Attempt)
	case history.UnlockCall:
		for n := range q.nodes {
			if q.nodes[n].holder == e.Process && q.nodes[n].attempt == e.Attempt {
				q.nodes[n].unlockCalled = true
			}
		}
	}
}

// granted returns the index of the node by which a LockReturn grants the lock. It returns -1 if the
// event grants nothing or the node is unknown.
//   - If the event names a path, the node is one of the process itself, even a deleted one: another
//     process may have created a node at the same path since. Only if the process has created no
//     such node is it the live node of another process.
//   - Otherwise the node is the last ephemeral node that the process created in the attempt. A live
//     node has priority over a deleted one, because a lock that created two by a retry deletes the
//     unused one.
func (q *queue) granted(e *history.Event) int {
	if e.Kind != history.LockReturn || e.Err != "" || e.Process == 0 {
		return -1
	}
	found := -1
	for n := len(q.nodes) - 1; n >= 0; n-- {
		m := &q.nodes[n]
		switch {
		case e.Path == "":
			if m.process == e.Process && m.ephemeral && m.waiting {
				if m.deleted == 0 {
					return n
				}
				if found < 0 {
					found = n
				}
			}
		case m.path != e.Path:
		case m.process == e.Process:
			return n
		case m.ephemeral && m.deleted == 0:
			found = n
		}
	}
	return found
}

// grantIsLocal reports whether other processes cannot change by which node a LockReturn grants the
// lock. They can if the process did not create the node in this attempt.
func (q *queue) grantIsLocal(e *history.Event) bool {
	if e.Err != "" {
		return true
	}
	if e.Path == "" {
		return q.waitingNodes(e.Process) < 2
	}
	n := q.granted(e)
	return n >= 0 && q.nodes[n].process == e.Process && q.nodes[n].waiting
}

// waitingNodes returns the number of ephemeral nodes that a process has created in its open
// attempt.
func (q *queue) waitingNodes(process int32) (nodes int) {
	for n := range q.nodes {
		if m := &q.nodes[n]; m.process == process && m.waiting && m.ephemeral {
			nodes++
		}
	}
	return nodes
}

// mode reports whether the holder of the node shares the lock, or else the process that waits by
// it.
func (n *node) mode() (shared bool) {
	if n.holder != 0 {
		return n.sharedHold
	}
	return n.shared
}

// sameDirectory reports whether two nodes contend for the same lock.
func sameDirectory(a, b *node) bool {
	return a.path[:a.directoryEnds] == b.path[:b.directoryEnds]
}

// live returns the index of the live node at the path, or -1.
func (q *queue) live(path string) int {
	for n := range q.nodes {
		if q.nodes[n].deleted == 0 && q.nodes[n].path == path {
			return n
		}
	}
	return -1
}

func (q *queue) delete(path string, i int) {
	n := q.live(path)
	switch {
	case n < 0:
	case q.nodes[n].waiting:
		q.nodes[n].deleted = i
	default:
		q.nodes = append(q.nodes[:n], q.nodes[n+1:]...)
	}
}

func (q *queue) endWaiting(process int32) {
	kept := q.nodes[:0]
	for n := range q.nodes {
		if q.nodes[n].process == process {
			if q.nodes[n].deleted != 0 {
				continue
			}
			q.nodes[n].waiting = false
		}
		kept = append(kept, q.nodes[n])
	}
	q.nodes = kept
}

// dropUnobserved drops the nodes of a process that the ensemble's events do not show and that have
// the given holder, or none if the holder is 0, and attempt.
func (q *queue) dropUnobserved(process, holder, attempt int32) {
	q.nodes = slices.DeleteFunc(q.nodes, func(n node) bool {
		return n.zxid == 0 && !n.ephemeral && n.process == process && n.holder == holder &&
			n.attempt == attempt
	})
}

// openAttempt returns the index of the open attempt of a process, or -1.
func (q *queue) openAttempt(process int32) int { return findOpenAttempt(q.open, process) }

func findOpenAttempt(open []openAttempt, process int32) int {
	for o := range open {
		if open[o].process == process {
			return o
		}
	}
	return -1
}

func withoutOpenAttempt(open []openAttempt, process int32) []openAttempt {
	if o := findOpenAttempt(open, process); o >= 0 {
		return append(open[:o], open[o+1:]...)
	}
	return open
}

// state folds in the queue. The order of the nodes is the order of their creation. Two facts make
// no difference and are left out: what ended processes waited for, and their grants by deleted
// nodes.
func (q *queue) state(s *State) {
	for n := range q.nodes {
		m := &q.nodes[n]
		if m.deleted != 0 && s.ended(m.process) {
			continue
		}
		flags := bit(m.ephemeral, 0) | bit(m.waiting, 1) | bit(m.deleted != 0,
			2) | bit(m.unlockCalled,
			3) | bit(m.shared, 4) | bit(m.sharedHold, 5)
		s.fold(s.text(m.path), uint64(uint32(m.process))<<32|flags)
		if m.holder == 0 {
			continue
		}
		attempt := m.attempt
		if m.unlockCalled {
			attempt = 0
		}
		s.fold(uint64(uint32(m.holder)), uint64(uint32(attempt)))
	}
	open := uint64(0)
	for _, o := range q.open {
		if !s.ended(o.process) {
			open += scatter(uint64(o.process) | bit(o.shared, 32))
		}
	}
	s.fold(open, 0)
}
