package history

import "fmt"

const reasonOvertookHolder = "the lock was granted by a node that was gone while a process with " +
	"an older node had it"

const reasonOvertaken = "the lock was granted while a process with an older node was waiting"

// CheckFIFO decides [FIFO]: the lock is granted in the order in which the ensemble created the
// contenders' nodes.
//
// The property holds if at every grant of a node no other process has, in the same directory, a
// live ephemeral node that was created by an earlier transaction, has not been granted, and was
// created during an attempt of that process which has not returned. A process that crashed while it
// waited keeps its place until its node is deleted. One that gave up, so that its attempt returned
// with an error, does not: its node is merely left over. A node that is already deleted when it is
// granted is judged like any other, since it cannot have come before an older one at any time; of a
// lock that claims [ServerMutualExclusion], which does not judge such a grant, nor before one by
// which another process has the lock.
//
// It takes time linear in the events, times the number of nodes that are live at once, and
// allocates only if more than a few are.
func CheckFIFO(events []Event) *Violation {
	return decide(FIFO, fifoMonitor{config: new(monitorConfig)},
		events)
}

// A fifoMonitor remembers nothing but the queue.
type fifoMonitor struct {
	stateless
	config *monitorConfig
}

// visible: a grant that comes sooner comes before older nodes all the same, but nobody who waits is
// overtaken by a grant of a younger node any more; it is overtaken as the holder, of a lock that
// excludes others. That is so only if it holds the lock by the node with which it has waited. A
// process whose attempt fails sooner is no longer overtaken.
func (m fifoMonitor) visible(q *queue, e *Event) bool {
	if e.Kind != LockReturn {
		return false
	}
	return !m.config.exclusive || e.Err != "" || !q.grantIsLocal(e) || !q.waitedWithIt(e)
}

// waitedWithIt reports whether a process that is granted the lock has waited with no other node
// than the one that grants it.
func (q *queue) waitedWithIt(e *Event) bool {
	switch q.waitingNodes(e.Process) {
	case 0:
		return true
	case 1:
		n := q.granted(e)
		return n >= 0 && q.nodes[n].ephemeral
	}
	return false
}

func (m fifoMonitor) observe(q *queue, log []Event, i int) *Violation {
	e := &log[i]
	n := q.granted(e)
	if n < 0 {
		return nil
	}
	o, reason, had := q.older(n, e.Process), reasonOvertaken, "waited with"
	if o < 0 && m.config.exclusive && q.nodes[n].deleted != 0 {
		o, reason, had = q.olderHolder(n, e.Process), reasonOvertookHolder, "had it by"
	}
	if o < 0 {
		return nil
	}
	return &Violation{
		Property: FIFO, Event: i, Reason: reason,
		Detail: fmt.Sprintf("c%d was granted %s (zxid %d) while c%d %s %s (zxid %d)",
			e.Process, q.nodes[n].path, q.nodes[n].zxid, q.nodes[o].process, had, q.nodes[o].path,
			q.nodes[o].zxid),
	}
}

// older returns the index of a node that waits before node n and is not of the given process, or
// -1.
func (q *queue) older(n int, process int32) int {
	for m := range q.nodes {
		other := &q.nodes[m]
		if other.waiting && other.ephemeral && other.deleted == 0 && other.holder == 0 &&
			other.process != process &&
			other.zxid < q.nodes[n].zxid && sameDirectory(other, &q.nodes[n]) {
			return m
		}
	}
	return -1
}

// olderHolder returns the index of a node that is older than node n and by which a process other
// than the given one has the lock, or -1.
func (q *queue) olderHolder(n int, process int32) int {
	for m := range q.nodes {
		other := &q.nodes[m]
		if other.ephemeral && other.deleted == 0 && other.holder != 0 && !other.unlockCalled &&
			other.holder != process &&
			other.zxid < q.nodes[n].zxid && sameDirectory(other, &q.nodes[n]) {
			return m
		}
	}
	return -1
}
