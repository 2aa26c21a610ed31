package history

import "fmt"

const (
	reasonTwoServed = "the lock was granted while a granted node of the same directory was live " +
		"and not given back"
	reasonSharedNode = "the lock was granted by a node by which another process still held it"
)

// CheckServerMutualExclusion decides [ServerMutualExclusion]: as far as the ensemble knows, one
// process at a time has the lock.
//
// A grant is a return of Lock without an error, and its node is the one that the lock names, or
// else the last ephemeral node that the process created in that attempt. The property holds if at
// every grant of a live node there is no other live node in the same directory that has been
// granted and whose holder has not called Unlock for that attempt, and if that node itself is not
// one by which another process holds the lock.
//
// A holder that crashed still counts while its node lives: the ensemble has not taken the lock from
// it. A grant of a node that is already deleted is not judged, because then the ensemble does not
// serve the process at all; what comes of such a grant is a matter of [ClientMutualExclusion].
//
// It takes time linear in the events, times the number of nodes that are live at once, and
// allocates only if more than a few are.
func CheckServerMutualExclusion(events []Event) *Violation {
	return decide(ServerMutualExclusion, serverExclusionMonitor{}, events)
}

// A serverExclusionMonitor remembers nothing but the queue.
type serverExclusionMonitor struct{ stateless }

// visible: a grant that comes sooner, and an unlock that comes later, overlap more. A grant by a
// node that is not the process's own may be by none if it comes sooner.
func (serverExclusionMonitor) visible(q *queue, e *Event) bool {
	return e.Kind == UnlockCall || e.Kind == LockReturn && !q.grantIsLocal(e)
}

func (serverExclusionMonitor) observe(q *queue, log []Event, i int) *Violation {
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
				continue // The process is granted again what it has.
			}
			reason = reasonSharedNode
		}
		return &Violation{
			Property: ServerMutualExclusion, Event: i, Reason: reason,
			Detail: fmt.Sprintf("c%d was granted %s in attempt %d while c%d held %s since "+
				"attempt %d",
				e.Process, q.nodes[n].path, e.Attempt, other.holder, other.path, other.attempt),
		}
	}
	return nil
}
