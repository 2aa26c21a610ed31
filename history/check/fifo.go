package check

import (
	"fmt"

	"github.com/interlock-sim/interlock/history"
)

const reasonOvertookHolder = "the lock was granted by a deleted node while a process with " +
	"an older node held it"

// ReasonOvertaken is a reason of violations of [history.FIFO].
const ReasonOvertaken = "the lock was granted while a process with an older node was waiting"

// FIFO decides [history.FIFO]: the lock is granted in the order in which the ensemble created the
// nodes of the processes that wait, as far as their modes and the lock's places make them wait for
// one another.
//
// An event of the property is a grant whose node is known. No other process has an older node in
// the same directory by which it waits: a live ephemeral node that was created in an attempt that
// has not returned, and by which the lock has not been granted. Older means created by an earlier
// transaction.
//   - If the lock has several places ([history.Limits].Places), the grant may precede an older
//     waiting node if it has a place too: fewer older nodes are live than the lock has places.
//   - A shared grant may precede an older waiting node of another in shared mode.
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

// freedom: an earlier grant still precedes older nodes, but it is not overtaken itself while it
// waits. If the lock excludes other holders, it is overtaken as a holder instead, provided that it
// holds the lock by the node with which it waited and that is the only place. A process whose
// attempt fails earlier is not overtaken.
func (m fifoMonitor) freedom(q *queue, e *history.Event) freedom {
	if e.Kind == history.LockReturn {
		return free(m.config.exclusive && m.config.solitary() && e.Err == "" &&
			waitedWithIt(q, e), sooner) & queueFreedom(q, e)
	}
	return queueFreedom(q, e)
}

// waitedWithIt reports whether a process has waited with no node other than the one of its grant.
func waitedWithIt(q *queue, e *history.Event) bool {
	switch waitingNodes(q, e.Process) {
	case 0:
		return true
	case 1:
		n := q.Granted(e)
		return n >= 0 && q.Nodes[n].Ephemeral
	}
	return false
}

func (m fifoMonitor) observe(q *queue, log []history.Event, i int) *history.Violation {
	e := &log[i]
	n := q.Granted(e)
	if n < 0 {
		return nil
	}
	o, reason, had := q.Older(n, e, m.config.limits.Places), ReasonOvertaken, "waited with"
	if o < 0 && m.config.exclusive && q.Nodes[n].Deleted != 0 {
		o, reason, had = olderHolder(q, n, e, &m.config.limits), reasonOvertookHolder, "had it by"
	}
	if o < 0 {
		return nil
	}
	return &history.Violation{
		Property: history.FIFO, Event: i, Reason: reason,
		Detail: fmt.Sprintf("c%d was granted %s (event %d) while c%d %s %s (event %d)",
			e.Process, q.Nodes[n].Path, q.Nodes[n].Created, q.Nodes[o].Process, had,
			q.Nodes[o].Path, q.Nodes[o].Created),
		Evidence: history.Evidence{
			Process: e.Process, Other: q.Nodes[o].Process, Path: q.Nodes[o].Path,
		},
	}
}

// olderHolder returns the index of a node that is older than node n and by which another process
// than that of the grant holds the lock and excludes the grant, or -1.
func olderHolder(q *queue, n int, grant *history.Event, limits *history.Limits) int {
	exclusive, sharing := 0, 0
	for m := range q.Nodes {
		other := &q.Nodes[m]
		if !other.Ephemeral || !other.Held() || other.Holder == grant.Process ||
			!other.Precedes(&q.Nodes[n]) {
			continue
		}
		exclusive, sharing = counted(other.SharedHold, exclusive, sharing)
		if !limits.Admits(grant.Shared(), exclusive, sharing) {
			return m
		}
	}
	return -1
}
