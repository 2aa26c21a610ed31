package check

import (
	"fmt"

	"github.com/interlock-sim/interlock/history"
)

const (
	reasonTwoServed = "the lock was granted while a granted node of the same directory was live " +
		"and not given back"
	reasonSharedNode = "the lock was granted by a node by which another process still held it"
)

// ServerMutualExclusion decides [history.ServerMutualExclusion]: as far as the ensemble's state
// shows, at most one process at a time holds the lock.
//
// An event of the property is a grant: a LockReturn without an error. Its node is the one that it
// names, or else the last ephemeral node that the process created in the attempt. At every grant by
// a live node
//   - no other live node of the same directory has been granted to a holder that has not called
//     Unlock for that attempt;
//   - the node is not one by which another process still holds the lock.
//
// The node of a crashed holder counts while it is live, because the ensemble still keeps the lock
// for the holder.
//
// The property does not cover a grant by a deleted node, by which the ensemble does not keep the
// lock for the process; [history.ClientMutualExclusion] covers its effects.
//
// The check takes time linear in the events, times the number of live nodes, and allocates only if
// more than a few nodes are live.
func ServerMutualExclusion(events []history.Event) *history.Violation {
	return decide(history.ServerMutualExclusion, serverExclusionMonitor{}, events)
}

// A serverExclusionMonitor has no state besides the queue.
type serverExclusionMonitor struct{ stateless }

// visible: an earlier grant or a later unlock makes the tenure longer. If the process does not own
// the node of the grant, an earlier grant may find no node.
func (serverExclusionMonitor) visible(q *queue, e *history.Event) bool {
	return e.Kind == history.UnlockCall || e.Kind == history.LockReturn && !q.grantIsLocal(e)
}

func (serverExclusionMonitor) observe(q *queue, log []history.Event, i int) *history.Violation {
	e := &log[i]
	n := q.granted(e)
	if n < 0 || q.nodes[n].deleted != 0 {
		return nil
	}
	for m := range q.nodes {
		other := &q.nodes[m]
		if other.holder == 0 || other.unlockCalled || other.deleted != 0 ||
			!sameDirectory(other, &q.nodes[n]) {
			continue
		}
		reason := reasonTwoServed
		if m == n {
			if other.holder == e.Process {
				continue // The process is granted the lock that it holds.
			}
			reason = reasonSharedNode
		}
		return &history.Violation{
			Property: history.ServerMutualExclusion, Event: i, Reason: reason,
			Detail: fmt.Sprintf("c%d was granted %s in attempt %d while c%d held %s since "+
				"attempt %d",
				e.Process, q.nodes[n].path, e.Attempt, other.holder, other.path, other.attempt),
			Evidence: history.Evidence{
				Process: e.Process, Other: other.holder, Path: other.path,
			},
		}
	}
	return nil
}
