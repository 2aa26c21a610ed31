package check

import "github.com/interlock-sim/interlock/history"

// The Sometimes of a lock in which processes queue by ephemeral nodes.
var (
	// Contention is reached when a holder's node is deleted while another process waits.
	Contention = history.Sometimes{
		Name: "a process gets the lock that had to wait for it", Clients: 2,
		Reached: func(events []history.Event) bool {
			return anyEvent(events, func(q *queue, e *history.Event) bool {
				n := q.Live(e.Path)
				return e.Kind == history.NodeDeleted && n >= 0 && q.Nodes[n].Holder != 0 &&
					waitersBehind(q, n) > 0
			})
		},
	}

	// ExpiredHolder is reached when the session of a holder ends while two processes wait behind
	// it.
	ExpiredHolder = history.Sometimes{
		Name: "two wait behind a holder whose session expires", Clients: 3, Fault: "expire",
		Reached: func(events []history.Event) bool { return sessionEnds(events, true, 2) },
	}

	// ExpiredWaiter is reached when the session of a waiting process ends while another waits
	// behind it.
	ExpiredWaiter = history.Sometimes{
		Name: "one waits behind a waiter whose session expires", Clients: 3, Fault: "expire",
		Reached: func(events []history.Event) bool { return sessionEnds(events, false, 1) },
	}

	// LostCreate is reached when a process's node is created and the reply to the request is lost.
	LostCreate = history.Sometimes{
		Name: "a node is made and the reply to it lost", Clients: 1,
		Fault: "lose-reply", Reached: losesCreateReply,
	}

	// CrashedHolder is reached when a holder crashes while another process waits.
	CrashedHolder = history.Sometimes{
		Name: "a holder crashes behind which another waits", Clients: 2, Fault: "crash",
		Reached: func(events []history.Event) bool {
			return anyEvent(events, func(q *queue, e *history.Event) bool {
				if e.Kind != history.Crashed {
					return false
				}
				for n := range q.Nodes {
					if q.Nodes[n].Holder == e.Process && q.Nodes[n].Held() &&
						waitersBehind(q, n) > 0 {
						return true
					}
				}
				return false
			})
		},
	}

	// AbandonedPlace is reached when a waiting process cancels while another waits behind it.
	AbandonedPlace = history.Sometimes{
		Name: "a process gives up behind which another waits", Clients: 3, Fault: cancelName,
		Reached: func(events []history.Event) bool {
			return anyEvent(events, func(q *queue, e *history.Event) bool {
				if e.Kind != history.Fault || e.Name != cancelName {
					return false
				}
				for n := range q.Nodes {
					if q.Nodes[n].Process == e.Process && q.Nodes[n].Waiting &&
						q.Nodes[n].Deleted == 0 &&
						waitersBehind(q, n) > 0 {
						return true
					}
				}
				return false
			})
		},
	}
)

// QueueSometimes returns the Sometimes of a lock in which processes queue by ephemeral nodes. The
// caller owns the slice.
func QueueSometimes() []history.Sometimes {
	return []history.Sometimes{
		Contention, ExpiredHolder, ExpiredWaiter, LostCreate, CrashedHolder,
		AbandonedPlace,
	}
}

// anyEvent reports whether reached is true for some event and the queue before it.
func anyEvent(events []history.Event, reached func(*queue, *history.Event) bool) bool {
	var nodeSpace [12]history.QueueNode
	var openSpace [12]history.OpenAttempt
	q := queue{Nodes: nodeSpace[:0], Open: openSpace[:0]}
	for i := range events {
		e := &events[i]
		if reached(&q, e) {
			return true
		}
		if history.QueueKinds>>e.Kind&1 != 0 {
			q.Observe(e, i)
		}
	}
	return false
}

// waitersBehind returns the number of nodes in the directory of node n by which other processes
// wait and that are younger than n.
func waitersBehind(q *queue, n int) int {
	count := 0
	for m := range q.Nodes {
		other := &q.Nodes[m]
		if other.Waits() && other.Process != q.Nodes[n].Process && q.Nodes[n].Precedes(other) {
			count++
		}
	}
	return count
}

// endsSession reports whether the deletion, which is event i, is part of the end of a session: the
// SessionExpired or SessionClosed follows with the same transaction.
func endsSession(events []history.Event, i int) bool {
	for j := i + 1; j < len(events) && events[j].Zxid == events[i].Zxid; j++ {
		if k := events[j].Kind; k == history.SessionExpired || k == history.SessionClosed {
			return true
		}
	}
	return false
}

// sessionEnds reports whether a session ends that owns the node of a holder, or else of a waiting
// process, while at least the given number of processes wait behind it.
func sessionEnds(events []history.Event, holder bool, waiters int) bool {
	i := -1
	return anyEvent(events, func(q *queue, e *history.Event) bool {
		i++
		if e.Kind != history.NodeDeleted {
			return false
		}
		n := q.Live(e.Path)
		if n < 0 || waitersBehind(q, n) < waiters || !endsSession(events, i) {
			return false
		}
		if holder {
			return q.Nodes[n].Holder != 0 && !q.Nodes[n].UnlockCalled
		}
		return q.Nodes[n].Holder == 0 && q.Nodes[n].Waiting
	})
}

// losesCreateReply reports whether a create was served with success and its reply was lost.
func losesCreateReply(events []history.Event) bool {
	for i := range events {
		e := &events[i]
		if e.Kind != history.Reply || e.Op != "create" || e.Err == "" || e.Zxid != 0 {
			continue
		}
		for j := i - 1; j >= 0; j-- {
			s := &events[j]
			if s.Kind == history.Serve && s.Process == e.Process && s.Request == e.Request {
				if s.Err == "" {
					return true
				}
				break
			}
		}
	}
	return false
}
