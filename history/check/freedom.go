package check

import "github.com/interlock-sim/interlock/history"

// A freedom says whether an event at a process can move past concurrent events, of the ensemble and
// of other processes, without hiding a violation. A partial-order reduction keeps an event in its
// place unless every monitor that depends on the event gives it the freedom to move. So what a
// monitor does not mention is fixed.
type freedom uint8

// The freedoms.
const (
	fixed freedom = 0
	// If the event comes later and breaks the property with what follows, it does so too if it
	// comes sooner. A fault may assume that the concurrent events break nothing by themselves.
	sooner freedom = 1
	// The same in the other direction, past events of the ensemble and of processes that do not
	// hold the lock.
	later    freedom = 2
	anywhere         = sooner | later
)

// free returns the freedom if the condition holds.
func free(condition bool, f freedom) freedom {
	if condition {
		return f
	}
	return fixed
}

// queueFreedom returns that of an event for a monitor that depends only on which processes hold the
// lock by which nodes, and is broken by more of them rather than by fewer.
func queueFreedom(q *queue, e *history.Event) freedom {
	switch e.Kind {
	case history.LockCall, history.UnlockReturn:
		return anywhere
	case history.UnlockCall:
		return later
	case history.LockReturn:
		return free(grantIsLocal(q, e), sooner) | free(e.Err != "", anywhere)
	}
	return fixed
}

// grantIsLocal reports whether other processes cannot change by which node a LockReturn grants the
// lock. They can if the process did not create the node in this attempt.
func grantIsLocal(q *queue, e *history.Event) bool {
	if e.Err != "" {
		return true
	}
	if e.Path == "" {
		return waitingNodes(q, e.Process) < 2
	}
	n := q.Granted(e)
	return n >= 0 && q.Nodes[n].Process == e.Process && q.Nodes[n].Waiting
}

// waitingNodes returns the number of ephemeral nodes that a process has created in its open
// attempt.
func waitingNodes(q *queue, process int32) (nodes int) {
	for n := range q.Nodes {
		if m := &q.Nodes[n]; m.Process == process && m.Waiting && m.Ephemeral {
			nodes++
		}
	}
	return nodes
}

// Kinds of events that no step causes which a reduction moves: the ensemble causes them, or time.
// The reductions know by themselves how steps of the ensemble commute.
const ensembleKinds = 1<<history.Serve | 1<<history.NodeCreated | 1<<history.NodeDeleted |
	1<<history.NodeChanged | 1<<history.WatchArmed | 1<<history.WatchFired |
	1<<history.WatchGone | 1<<history.SessionOpened | 1<<history.SessionExpired |
	1<<history.SessionClosed | 1<<history.Logged | 1<<history.Applied | 1<<history.Leading |
	1<<history.Healed | 1<<history.Tick | 1<<history.FairPhase | 1<<history.Executed |
	1<<history.KeySet | 1<<history.KeyDeleted | 1<<history.KeyExpired | 1<<history.KeyLost |
	1<<history.Started

// lockKinds holds the kinds of events between a process and its lock: all at a process that are
// neither messages nor faults.
const lockKinds = allKinds &^ (ensembleKinds | 1<<0 | 1<<history.Send | 1<<history.Reply |
	1<<history.WatchEvent | 1<<history.SessionState | 1<<history.Command | 1<<history.Answer |
	1<<history.Fault | 1<<history.Resumed | 1<<history.Crashed)

// OfLock reports whether events of the kind pass between a process and its lock.
func OfLock(k history.Kind) bool { return lockKinds>>k&1 != 0 }
