package history

import "slices"

// A Queue says who holds a lock and who waits for it, as far as the events of a history show: it
// has the znodes by which processes contend, and the open attempts. Checkers, explanations and
// pictures of a run all ask it.
//
// The queue drops a deleted node at once, except while the attempt that created it is open: the
// grant that ends the attempt may still name it. If the history comes from a service in
// production and shows only that a process has queued with a node, the queue drops the node with
// the attempt. So the queue is as short as the number of live nodes and processes, and an event
// takes time linear in that.
type Queue struct {
	Nodes []QueueNode // in order of creation
	Open  []OpenAttempt
}

// A QueueNode is a znode by which a process contends, or by which one was granted the lock.
type QueueNode struct {
	Path          string
	Zxid          int64 // of its creation
	Process       int32 // its creator
	Ephemeral     bool
	Shared        bool  // the mode of that attempt
	Waiting       bool  // the attempt in which it was created has not returned
	Holder        int32 // the process that was granted the lock by the node, or 0
	Attempt       int32 // the attempt of the holder
	SharedHold    bool  // its mode
	UnlockCalled  bool  // the holder has called Unlock for that attempt
	Created       int   // the index of its creation, which distinguishes nodes of the same path
	Deleted       int   // the index of its deletion, 0 while it is live
	directoryEnds int   // Path[:directoryEnds] is its parent
}

// An OpenAttempt is a call of Lock that has not returned. A process has at most one.
type OpenAttempt struct {
	Process int32
	Shared  bool // its mode
	Call    int  // the index of the LockCall
}

// QueueKinds holds the kinds of events that change a queue, one bit each.
const QueueKinds = 1<<LockCall | 1<<LockReturn | 1<<UnlockCall | 1<<UnlockReturn |
	1<<NodeCreated | 1<<NodeDeleted

// QueueAfter returns the queue after the events.
func QueueAfter(events []Event) *Queue {
	q := new(Queue)
	for i := range events {
		q.Observe(&events[i], i)
	}
	return q
}

// GrantNode returns the node by which event i grants the lock, as [Queue.Granted] finds it. If
// there is none, it returns false, and a node that has only the path that the event names.
func GrantNode(events []Event, i int) (node QueueNode, known bool) {
	q := QueueAfter(events[:i])
	if n := q.Granted(&events[i]); n >= 0 {
		return q.Nodes[n], true
	}
	return QueueNode{Path: events[i].Path}, false
}

// Reset makes the queue that of an empty history.
func (q *Queue) Reset() { q.Nodes, q.Open = q.Nodes[:0], q.Open[:0] }

// Copy makes the queue a copy of another.
func (q *Queue) Copy(from *Queue) {
	q.Nodes, q.Open = append(q.Nodes[:0], from.Nodes...), append(q.Open[:0], from.Open...)
}

// Observe updates the queue with event i.
func (q *Queue) Observe(e *Event, i int) {
	switch e.Kind {
	case LockCall:
		q.endAttempt(e.Process)
		q.Open = append(q.Open, OpenAttempt{e.Process, e.Shared(), i})
	case NodeCreated:
		o := q.OpenAttempt(e.Process)
		q.Nodes = append(q.Nodes, QueueNode{
			Path: e.Path, Zxid: e.Zxid, Process: e.Process, Ephemeral: e.Session != 0, Created: i,
			Waiting: o >= 0, Shared: o >= 0 && q.Open[o].Shared,
			directoryEnds: len(Directory(e.Path)),
		})
	case NodeDeleted:
		q.delete(e.Path, i)
	case LockReturn:
		q.endAttempt(e.Process)
		if n := q.Granted(e); n >= 0 {
			m := &q.Nodes[n]
			m.Holder, m.Attempt, m.SharedHold, m.UnlockCalled = e.Process, e.Attempt, e.Shared(),
				false
		}
		q.endWaiting(e.Process)
		if e.Err != "" {
			q.dropUnobserved(e.Process, 0, 0)
		}
	case UnlockReturn:
		q.dropUnobserved(e.Process, e.Process, e.Attempt)
	case UnlockCall:
		for n := range q.Nodes {
			if q.Nodes[n].Holder == e.Process && q.Nodes[n].Attempt == e.Attempt {
				q.Nodes[n].UnlockCalled = true
			}
		}
	}
}

// Granted returns the index of the node by which a LockReturn grants the lock. It returns -1 if the
// event grants nothing or the node is unknown.
//   - If the event names a path, the node is one of the process itself, even a deleted one: another
//     process may have created a node at the same path since. Only if the process has created no
//     such node is it the live node of another process.
//   - Otherwise the node is the last ephemeral node that the process created in the attempt. A live
//     node has priority over a deleted one, because a lock that created two by a retry deletes the
//     unused one.
func (q *Queue) Granted(e *Event) int {
	if e.Kind != LockReturn || e.Err != "" || e.Process == 0 {
		return -1
	}
	found := -1
	for n := len(q.Nodes) - 1; n >= 0; n-- {
		m := &q.Nodes[n]
		switch {
		case e.Path == "":
			if m.Process == e.Process && m.Ephemeral && m.Waiting {
				if m.Deleted == 0 {
					return n
				}
				if found < 0 {
					found = n
				}
			}
		case m.Path != e.Path:
		case m.Process == e.Process:
			return n
		case m.Ephemeral && m.Deleted == 0:
			found = n
		}
	}
	return found
}

// Held reports whether a process holds the lock by the node: it was granted the lock by it and has
// not called Unlock since, and the node is live.
func (n *QueueNode) Held() bool { return n.Holder != 0 && !n.UnlockCalled && n.Deleted == 0 }

// Waits reports whether the creator of the node waits for the lock by it.
func (n *QueueNode) Waits() bool {
	return n.Waiting && n.Holder == 0 && n.Deleted == 0 && n.Ephemeral
}

// Mode reports whether the holder of the node shares the lock, or else the process that waits by
// it.
func (n *QueueNode) Mode() (shared bool) {
	if n.Holder != 0 {
		return n.SharedHold
	}
	return n.Shared
}

// Directory returns the parent of the node. Nodes of one directory contend for the same lock.
func (n *QueueNode) Directory() string { return n.Path[:n.directoryEnds] }

// Precedes reports whether the node was created before another in the same directory.
func (n *QueueNode) Precedes(other *QueueNode) bool {
	return n.Zxid < other.Zxid && n.Directory() == other.Directory()
}

// Older returns the index of a node that is older than node n and by which another process than
// that of the grant waits, or -1 if there is none or the grant need not wait for it, as fewer older
// nodes contend than the lock has places.
func (q *Queue) Older(n int, grant *Event, places int) int {
	found, before := -1, 0
	for m := range q.Nodes {
		other := &q.Nodes[m]
		if !other.Ephemeral || other.Deleted != 0 || !other.Precedes(&q.Nodes[n]) {
			continue
		}
		waits := other.Waits() && other.Process != grant.Process
		if waits || other.Holder != 0 && other.Holder != grant.Process {
			before++
		}
		if found < 0 && waits && !(grant.Shared() && other.Shared) {
			found = m
		}
	}
	if before < places {
		return -1
	}
	return found
}

// Live returns the index of the live node at the path, or -1.
func (q *Queue) Live(path string) int {
	for n := range q.Nodes {
		if q.Nodes[n].Deleted == 0 && q.Nodes[n].Path == path {
			return n
		}
	}
	return -1
}

func (q *Queue) delete(path string, i int) {
	n := q.Live(path)
	switch {
	case n < 0:
	case q.Nodes[n].Waiting:
		q.Nodes[n].Deleted = i
	default:
		q.Nodes = append(q.Nodes[:n], q.Nodes[n+1:]...)
	}
}

func (q *Queue) endWaiting(process int32) {
	kept := q.Nodes[:0]
	for n := range q.Nodes {
		if q.Nodes[n].Process == process {
			if q.Nodes[n].Deleted != 0 {
				continue
			}
			q.Nodes[n].Waiting = false
		}
		kept = append(kept, q.Nodes[n])
	}
	q.Nodes = kept
}

// dropUnobserved drops the nodes of a process that the ensemble's events do not show and that have
// the given holder, or none if the holder is 0, and attempt.
func (q *Queue) dropUnobserved(process, holder, attempt int32) {
	q.Nodes = slices.DeleteFunc(q.Nodes, func(n QueueNode) bool {
		return n.Zxid == 0 && !n.Ephemeral && n.Process == process && n.Holder == holder &&
			n.Attempt == attempt
	})
}

// OpenAttempt returns the index of the open attempt of a process, or -1.
func (q *Queue) OpenAttempt(process int32) int {
	for o := range q.Open {
		if q.Open[o].Process == process {
			return o
		}
	}
	return -1
}

func (q *Queue) endAttempt(process int32) {
	if o := q.OpenAttempt(process); o >= 0 {
		q.Open = append(q.Open[:o], q.Open[o+1:]...)
	}
}
