package check

import (
	"fmt"

	"github.com/interlock-sim/interlock/history"
)

const (
	reasonTwoServed = "the lock was granted while a granted node of the same directory was live " +
		"and not given back"
	reasonAllServed = "the lock was granted while as many granted nodes of the same directory as " +
		"it has places were live and not given back"
	reasonSharedNode = "the lock was granted by a node by which another process still held it"
)

// ServerMutualExclusion decides [history.ServerMutualExclusion]: as far as the ensemble's state
// shows, at most one process at a time holds the lock; or at most as many as it has places
// ([history.Limits].Places); or any number in shared mode while no process holds it exclusively.
//
// An event of the property is a grant: a LockReturn without an error. Its node is the one that it
// names, or else the last ephemeral node that the process created in the attempt. At every grant by
// a live node
//   - no other live node of the same directory has been granted to a holder that has not called
//     Unlock for that attempt; with several places, fewer such nodes than places; and if the grant
//     is shared, none to an exclusive holder;
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
	return decide(history.ServerMutualExclusion,
		serverExclusionMonitor{config: new(monitorConfig)}, events)
}

// A serverExclusionMonitor has no state besides the queue.
type serverExclusionMonitor struct {
	stateless
	config *monitorConfig
}

// freedom: an earlier grant or a later unlock makes the tenure longer. If the process does not own
// the node of the grant, an earlier grant may find no node.
func (serverExclusionMonitor) freedom(q *queue, e *history.Event) freedom {
	return queueFreedom(q, e)
}

func (x serverExclusionMonitor) observe(q *queue, log []history.Event, i int) *history.Violation {
	e := &log[i]
	n := q.Granted(e)
	if n < 0 || q.Nodes[n].Deleted != 0 {
		return nil
	}
	exclusive, sharing := 0, 0
	for m := range q.Nodes {
		other := &q.Nodes[m]
		if !other.Held() || other.Directory() != q.Nodes[n].Directory() {
			continue
		}
		reason, count := reasonTwoServed, 0
		if m == n {
			if other.Holder == e.Process {
				continue // The process is granted the lock that it holds.
			}
			reason = reasonSharedNode
		} else {
			exclusive, sharing = counted(other.SharedHold, exclusive, sharing)
			if x.config.limits.Admits(e.Shared(), exclusive, sharing) {
				continue
			}
			if exclusive > 1 {
				reason, count = reasonAllServed, exclusive
			}
		}
		return &history.Violation{
			Property: history.ServerMutualExclusion, Event: i, Reason: reason,
			Detail: fmt.Sprintf("c%d was granted %s in attempt %d while c%d held %s since "+
				"attempt %d%s",
				e.Process, q.Nodes[n].Path, e.Attempt, other.Holder, other.Path, other.Attempt,
				besides(count)),
			Evidence: history.Evidence{
				Process: e.Process, Other: other.Holder, Path: other.Path, Count: count,
			},
		}
	}
	return nil
}

// counted counts a holder as an exclusive or a sharing one.
func counted(shared bool, exclusive, sharing int) (int, int) {
	if shared {
		return exclusive, sharing + 1
	}
	return exclusive + 1, sharing
}

// besides says how many other holders than the named one take places of a lock that is full.
func besides(holders int) string {
	if holders < 2 {
		return ""
	}
	return fmt.Sprintf(", and %d others held the other places", holders-1)
}
