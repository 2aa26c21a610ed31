package check

import (
	"fmt"

	"github.com/interlock-sim/interlock/history"
)

const reasonOvertookHolder = "the lock was granted by a deleted node while a process with " +
	"an older node held it"

const reasonOvertaken = "the lock was granted while a process with an older node was waiting"

// FIFO decides [history.FIFO]: the lock is granted in the order in which the ensemble created the
// nodes of the processes that wait.
//
// An event of the property is a grant whose node is known. No other process has an older node in
// the same directory by which it waits: a live ephemeral node that was created in an attempt that
// has not returned, and by which the lock has not been granted. Older means created by an earlier
// transaction.
//   - A process that crashed while it waited keeps its place until its node is deleted.
//   - A process whose attempt returned an error has no place, even if its node is left over.
//   - The node of the grant may be deleted: it never preceded an older node. If the lock claims
//     [history.ServerMutualExclusion], which does not cover such a grant, the grant must not
//     overtake a holder with an older node either.
//
// The property does not cover a grant whose node is unknown.
//
// The check takes time linear in the events, times the number of live nodes, and allocates only if
// more than a few nodes are live.
func FIFO(events []history.Event) *history.Violation {
	return decide(history.FIFO, fifoMonitor{config: new(monitorConfig)}, events)
}

// A fifoMonitor has no state besides the queue.
type fifoMonitor struct {
	stateless
	config *monitorConfig
}

// visible: an earlier grant still precedes older nodes, but it is not overtaken itself while it
// waits. If the lock excludes other holders, it is overtaken as a holder instead, provided that it
// holds the lock by the node with which it waited. A process whose attempt fails earlier is not
// overtaken.
func (m fifoMonitor) visible(q *queue, e *history.Event) bool {
	if e.Kind != history.LockReturn {
		return false
	}
	return !m.config.exclusive || e.Err != "" || !q.grantIsLocal(e) || !q.waitedWithIt(e)
}

// waitedWithIt reports whether a process has waited with no node other than the one of its grant.
func (q *queue) waitedWithIt(e *history.Event) bool {
	switch q.waitingNodes(e.Process) {
	case 0:
		return true
	case 1:
		n := q.granted(e)
		return n >= 0 && q.nodes[n].ephemeral
	}
	return false
}

func (m fifoMonitor) observe(q *queue, log []history.Event, i int) *history.Violation {
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
	return &history.Violation{
		Property: history.FIFO, Event: i, Reason: reason,
		Detail: fmt.Sprintf("c%d was granted %s (event %d) while c%d %s %s (event %d)",
			e.Process, q.nodes[n].path, q.nodes[n].created, q.nodes[o].process, had,
			q.nodes[o].path, q.nodes[o].created),
		Evidence: history.Evidence{
			Process: e.Process, Other: q.nodes[o].process, Path: q.nodes[o].path,
		},
	}
}

// older returns the index of a node that is older than node n and by which another process than the
// given one waits, or -1.
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

// olderHolder returns the index of a node that is older than node n and by which another process
// than the given one holds the lock, or -1.
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
