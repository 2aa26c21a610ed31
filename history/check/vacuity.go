package check

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// A Vacuity counts how often histories have tested each property. A property that holds without a
// test holds vacuously. [Vacuity.Add] defines what tests each property.
type Vacuity struct{ counts [len(propertyTable)]int } // by row

// Of returns the number of tests of the property.
func (x *Vacuity) Of(p history.Property) int {
	for i := range propertyTable {
		if propertyTable[i].name == p {
			return x.counts[i]
		}
	}
	return 0
}

// Merge adds the counts of other.
func (x *Vacuity) Merge(other *Vacuity) {
	for i := range x.counts {
		x.counts[i] += other.counts[i]
	}
}

// Add counts the tests in a history:
//   - server-mutual-exclusion, fifo: grants by a live node while another process holds the lock or
//     waits by a node in the same directory; with several places as many others, and in shared mode
//     an exclusive one;
//   - client-mutual-exclusion: processes that enter while another has called Lock, holds the lock,
//     has not returned from Unlock, or is inside; with several places as many others, and in shared
//     mode an exclusive one;
//   - fencing: writes to the resource, accepted or refused, by another process than the previous
//     write;
//   - no-lost-update: accepted writes of a process that has read the resource;
//   - no-lost-watch: watches that fire;
//   - progress: calls of Lock and Unlock that are open at the FairPhase event or made after it;
//   - no-starvation: grants after the FairPhase event while another process holds the lock or
//     waits;
//   - no-livelock: requests after the FairPhase event;
//   - no-spurious-failure: attempts during which a fault other than cancel strikes the process;
//   - no-leaked-nodes: attempts that ended, by a failure of Lock or the return of Unlock, after a
//     node was created;
//   - loss-notification: holds whose node is deleted before Unlock is called, and notifications of
//     a loss;
//   - session-loss: holders whose client library reports the end of the session;
//   - reentrancy: successful reentries;
//   - no-herd: releases for which another process waits;
//   - monotonic-token: grants with a token after another grant with a token;
//   - linearizable: grants;
//   - own-release: deletions of keys;
//   - validity: grants after a grant with a validity time to another process;
//   - extension: extensions, granted or refused;
//   - promptness: attempts that are cancelled or fail, and calls that reach their time limit;
//   - no-early-pass: grants;
//   - one-leader-per-term: observations of a leader;
//   - terms-in-order: the same, by a process that has led or has seen a leader before;
//   - quiescence: threads that have called Lock, and neither want nor hold the lock at the end;
//   - margin: holders whose session ends, or that were told of a loss before their session ended.
//
// It takes time linear in the events, times the number of live nodes and processes.
func (x *Vacuity) Add(events []history.Event, limits history.Limits) {
	var nodeSpace [12]history.QueueNode
	var openSpace [12]history.OpenAttempt
	var faultedSpace [16]int32
	var holdingSpace, criticalSpace [5]insider
	c := contention{
		limits: limits, faulted: faultedSpace[:0], holding: holdingSpace[:0],
		critical: criticalSpace[:0],
	}
	q := queue{Nodes: nodeSpace[:0], Open: openSpace[:0]}
	for i := range events {
		e := &events[i]
		if history.QueueKinds>>e.Kind&1 != 0 {
			c.countQueue(&q, e)
			q.Observe(e, i)
		} else {
			c.countOther(&q, e)
		}
	}
	for i := range propertyTable {
		if row := &propertyTable[i]; row.tests != nil {
			x.counts[i] += row.tests(c.uses)
		} else {
			x.counts[i] += row.exercised(events)
		}
	}
}

// uses are what tests the properties that [Vacuity.Add] counts in one pass.
type uses struct {
	contendedGrants, fairContendedGrants, grants, tokens  int
	contendedEnters, foreignWrites, acceptedWrites        int
	fairCalls, fairRequests, struckAttempts, attempts     int
	losses, expiries, reentries, awaitedReleases, watches int
}

// A contention is the state of [Vacuity.Add].
type contention struct {
	uses
	limits   history.Limits
	faulted  []int32   // the processes whose open attempt a fault has struck
	holding  []insider // the processes between a grant and the return of Unlock
	critical []insider // the processes in their critical sections
	fair     bool
	granted  bool  // a grant has had a token
	created  bool  // a node was created
	pending  int   // calls of Unlock that have not returned
	writer   int32 // of the last write to the resource
}

// countQueue counts the tests of an event that changes the queue.
func (c *contention) countQueue(q *queue, e *history.Event) {
	switch e.Kind {
	case history.LockCall, history.UnlockCall:
		if c.fair {
			c.fairCalls++
		}
		if e.Kind == history.UnlockCall {
			c.pending++
		}
	case history.LockReturn:
		if n := slices.Index(c.faulted, e.Process); n >= 0 {
			c.faulted = slices.Delete(c.faulted, n, n+1)
			c.struckAttempts++
		}
		if e.Err != "" {
			c.endAttempt()
			return
		}
		c.grant(q, e)
	case history.UnlockReturn:
		c.pending--
		c.endAttempt()
		c.holding = withoutInsider(c.holding, e.Process)
	case history.NodeCreated:
		c.created = true
	case history.NodeDeleted:
		n := q.Live(e.Path)
		if n < 0 || q.Nodes[n].Holder == 0 {
			return
		}
		if waitersBehind(q, n) > 0 {
			c.awaitedReleases++
		}
		if !q.Nodes[n].UnlockCalled {
			c.losses++
		}
	}
}

// endAttempt counts an attempt that could have left a node. Only ZooKeeper has nodes.
func (c *contention) endAttempt() {
	if c.created {
		c.attempts++
	}
}

func (c *contention) grant(q *queue, e *history.Event) {
	c.grants++
	if e.Zxid != 0 {
		if c.granted {
			c.tokens++
		}
		c.granted = true
	}
	c.holding = append(withoutInsider(c.holding, e.Process),
		insider{process: e.Process, shared: e.Shared()})
	n := q.Granted(e)
	if n < 0 || q.Nodes[n].Deleted != 0 {
		return
	}
	exclusive, sharing := 0, 0
	for m := range q.Nodes {
		other := &q.Nodes[m]
		if other.Process != e.Process && other.Deleted == 0 &&
			(other.Waiting || other.Holder != 0) &&
			other.Directory() == q.Nodes[n].Directory() {
			exclusive, sharing = counted(other.Mode(), exclusive, sharing)
			if c.limits.Admits(e.Shared(), exclusive, sharing) {
				continue
			}
			c.contendedGrants++
			if c.fair {
				c.fairContendedGrants++
			}
			return
		}
	}
}

// countOther counts the tests of any other event.
func (c *contention) countOther(q *queue, e *history.Event) {
	switch e.Kind {
	case history.Send:
		if c.fair {
			c.fairRequests++
		}
	case history.WatchFired:
		c.watches++
	case history.SessionState:
		if e.Name == expiredState && hasInsider(c.holding, e.Process) {
			c.expiries++
		}
	case history.Enter:
		if c.contended(q, e) {
			c.contendedEnters++
		}
		c.critical = append(withoutInsider(c.critical, e.Process),
			insider{process: e.Process, shared: e.Shared()})
	case history.Leave:
		c.critical = withoutInsider(c.critical, e.Process)
	case history.Lost:
		c.losses++
	case history.Fault:
		if e.Name != cancelName && q.OpenAttempt(e.Process) >= 0 &&
			!slices.Contains(c.faulted, e.Process) {
			c.faulted = append(c.faulted, e.Process)
		}
	case history.ReenterReturn:
		if e.Err == "" {
			c.reentries++
		}
	case history.ResourceWrite:
		if c.writer != 0 && c.writer != e.Process {
			c.foreignWrites++
		}
		if e.Err == "" {
			c.acceptedWrites++
		}
		c.writer = e.Process
	case history.FairPhase:
		c.fair = true
		c.fairCalls += len(q.Open) + c.pending
	}
}

// contended reports whether the lock would not admit a process that enters if all others that use
// it were inside.
func (c *contention) contended(q *queue, e *history.Event) bool {
	exclusive, sharing := 0, 0
	for _, o := range q.Open {
		exclusive, sharing = counted(o.Shared, exclusive, sharing)
	}
	for _, in := range c.holding {
		if in.process != e.Process && q.OpenAttempt(in.process) < 0 {
			exclusive, sharing = counted(in.shared, exclusive, sharing)
		}
	}
	for _, in := range c.critical {
		if in.process != e.Process && q.OpenAttempt(in.process) < 0 &&
			!hasInsider(c.holding, in.process) {
			exclusive, sharing = counted(in.shared, exclusive, sharing)
		}
	}
	return !c.limits.Admits(e.Shared(), exclusive, sharing)
}

func hasInsider(all []insider, process int32) bool {
	return slices.ContainsFunc(all, func(in insider) bool { return in.process == process })
}

func withoutInsider(all []insider, process int32) []insider {
	return slices.DeleteFunc(all, func(in insider) bool { return in.process == process })
}
