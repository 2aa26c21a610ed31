package check

import "github.com/interlock-sim/interlock/history"

// The Sometimes of a lock in which processes queue by ephemeral nodes.
var (
	// Contention is reached when a holder's node is deleted while another process waits.
	Contention = history.Sometimes{
		Name: "a process gets the lock that had to wait for it", Clients: 2,
		Reached: func(events []history.Event) bool {
			return anyEvent(events, func(q *queue, e *history.Event) bool {
				n := q.live(e.Path)
				return e.Kind == history.NodeDeleted && n >= 0 && q.nodes[n].holder != 0 &&
					q.waitersBehind(n) > 0
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
				for n := range q.nodes {
					if q.nodes[n].holder == e.Process && !q.nodes[n].unlockCalled &&
						q.nodes[n].deleted == 0 &&
						q.waitersBehind(n) > 0 {
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
				for n := range q.nodes {
					if q.nodes[n].process == e.Process && q.nodes[n].waiting &&
						q.nodes[n].deleted == 0 &&
						q.waitersBehind(n) > 0 {
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
	var nodeSpace [12]node
	var openSpace [12]openAttempt
	q := queue{nodeSpace[:0], openSpace[:0]}
	for i := range events {
		e := &events[i]
		if reached(&q, e) {
			return true
		}
		if queueKinds>>e.Kind&1 != 0 {
			q.observe(e, i)
		}
	}
	return false
}

// waitersBehind returns the number of nodes in the directory of node n by which other processes
// wait and that are younger than n.
func (q *queue) waitersBehind(n int) int {
	count := 0
	for m := range q.nodes {
		other := &q.nodes[m]
		if other.waiting && other.deleted == 0 && other.holder == 0 && other.ephemeral &&
			other.process != q.nodes[n].process &&
			other.zxid > q.nodes[n].zxid && sameDirectory(other, &q.nodes[n]) {
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
		n := q.live(e.Path)
		if n < 0 || q.waitersBehind(n) < waiters || !endsSession(events, i) {
			return false
		}
		if holder {
			return q.nodes[n].holder != 0 && !q.nodes[n].unlockCalled
		}
		return q.nodes[n].holder == 0 && q.nodes[n].waiting
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
