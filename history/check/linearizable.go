package check

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"

	"github.com/anishathalye/porcupine"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/models"
)

// ReasonNoOrder is a reason of violations of [history.Linearizable].
const ReasonNoOrder = "no order of the operations is one that a lock allows"

const (
	// maxVerdicts bounds the cache of a LinearizableChecker. A key takes about two bytes for each
	// call and return, so a full cache takes a few megabytes. A full cache is emptied, because old
	// histories do not recur more often than new ones.
	maxVerdicts = 1 << 15

	// maxOperations bounds the operations given to porcupine. Of a longer history only the first
	// operations are checked. A violation in them is one of the history, because every prefix of a
	// linearizable history is linearizable; without one the verdict is unknown.
	maxOperations = 4096

	// maxSteps bounds the search of porcupine, which takes about a second. It counts steps, so that
	// the verdict does not depend on the speed of the machine.
	maxSteps = 2_000_000

	undecided = -1 // the value of an unknown verdict
)

// A grant is an attempt that was granted the lock, with the indexes of the events that bound its
// operations.
type grant struct {
	process, attempt int32
	shared           bool
	token            int64
	node             int // the index of the creation of its node, -1 if unknown
	call, granted    int // LockCall and LockReturn
	deleted          int // NodeDeleted of its node, or 0
	unlock, unlocked int // UnlockCall, and the UnlockReturn without an error, or 0
}

// An operation takes effect between its call and its return, which are positions in the canonical
// history.
type operation struct {
	process   int32
	release   bool
	shared    bool
	token     int64 // of an acquire
	event     int   // the index of the event that shows that the operation has returned
	number    int   // in the order of the calls
	call, ret int
	from, to  int // the instants of the call and the return; see endpoint
}

// An endpoint is the call or the return of an operation.
type endpoint struct {
	instant   int // the index of the event times slots, plus a slot
	operation int
	isReturn  bool
}

// The slots order the endpoints at one event: a deletion can end an acquire, and begin and end a
// release.
const (
	slotAcquire = iota
	slotRelease
	slotReleased
	slots
)

// A LinearizableChecker decides [history.Linearizable] and caches verdicts by the canonical
// history: the order of the calls and returns of the operations, with the processes numbered by
// their first appearance. Most runs have the same canonical history as an earlier run, and so cost
// a lookup. The zero value is ready for use. A LinearizableChecker is not safe for concurrent use.
type LinearizableChecker struct {
	Cut    bool // the histories are prefixes of longer ones
	Places int  // how many processes may hold the lock at once; 0 stands for 1

	// the number of endpoints of the shortest prefix that is not linearizable, 0 if there is none,
	// or undecided
	verdicts map[string]int
	places   int  // of the verdicts
	unknown  bool // the last check was undecided
	sharing  bool // a process has shared the lock

	// scratch for one check
	queue      queue
	grants     []grant
	operations []operation
	endpoints  []endpoint
	names      []int32 // the processes in the order of their first appearance
	key        []byte
}

// Linearizable decides [history.Linearizable] as [LinearizableChecker.Check] does, without a cache.
func Linearizable(events []history.Event) *history.Violation {
	return new(LinearizableChecker).Check(events)
}

// LockOperations returns the operations that [LinearizableChecker.Check] checks, as porcupine
// checks or visualizes them with [models.Owner], [models.Mutex] or [models.Fenced]. Their times are
// positions in the canonical history, not indexes of events.
func LockOperations(events []history.Event) []porcupine.Operation {
	c := new(LinearizableChecker)
	c.build(events)
	return c.prefix(len(c.endpoints))
}

// Check decides [history.Linearizable]: the results that the processes saw are those of some
// sequential execution of one lock that respects the real-time order of the operations.
//
// The events of the property are the operations of the grants: the acquire and the release of each
// attempt in which Lock returned without an error. The model must allow some order of them in which
// an operation that returned before another was called precedes it. The model is [models.Owner];
// with several places [models.Semaphore], and with attempts in shared mode [models.ReadWrite]. The
// ensemble's events supply what a process did not learn:
//   - The acquire of a grant lasts from the call of Lock to its return. If the node was deleted
//     before that return, as when a session expires while the reply is in flight, the process held
//     the lock before the deletion or never: the acquire ends at the deletion, and the release is
//     at the deletion.
//   - If the node was deleted before Unlock was called, or Unlock was never called, the release is
//     at the deletion: until then the ensemble kept the lock for the process.
//   - If the node was deleted during a call of Unlock that succeeded, the release is that call.
//   - If the node was deleted after the call of Unlock in any other way, such as by a retry in the
//     background after Unlock returned an error, the release lasts from that call to the deletion.
//     The lock may serve another process earlier, since the call ended the holder's claim.
//   - If the node was never deleted, there is no release. But if Unlock was called and the history
//     is a prefix ([LinearizableChecker].Cut), the release lasts from that call to the end, because
//     the node may still be deleted.
//   - If no node is known, the release is the call of Unlock. If that did not succeed, it lasts
//     from the call to the end of the history.
//
// The property does not cover an attempt that failed or never returned: no process learned that it
// held the lock. It treats all grants of a history as grants of one lock; see [ByLock]. The event
// of the violation is the last one of the shortest prefix that is not linearizable; for an acquire
// it is the return of Lock.
//
// Building the operations takes time linear in the events, times the number of live nodes, and
// sorting them takes O(n log n) in their number. A history with a cached verdict allocates nothing.
// The search is exponential in the number of overlapping operations, that is, of processes, but not
// in the length.
func (c *LinearizableChecker) Check(events []history.Event) *history.Violation {
	c.build(events)
	if c.places != c.Places {
		clear(c.verdicts)
		c.places = c.Places
	}
	wrong, known := c.verdicts[string(c.key)]
	if !known {
		wrong = c.shortestViolation()
		if c.verdicts == nil {
			c.verdicts = make(map[string]int)
		} else if len(c.verdicts) >= maxVerdicts {
			clear(c.verdicts)
		}
		c.verdicts[string(c.key)] = wrong
	}
	c.unknown = wrong == undecided
	if wrong <= 0 {
		return nil
	}
	last := &c.operations[c.endpoints[wrong-1].operation]
	return &history.Violation{
		Property: history.Linearizable, Event: last.event, Reason: ReasonNoOrder,
		Detail: fmt.Sprintf("%s, as event %d shows, which no order of the acquires and releases "+
			"so far allows",
			models.Owner.DescribeOperation(last.input(), nil), last.event),
		Evidence: history.Evidence{Process: last.process},
	}
}

// Undecided reports whether the last check reached its limits without a verdict. Such a check has
// found no violation, but has not shown that there is none.
func (c *LinearizableChecker) Undecided() bool { return c.unknown }

func (o *operation) input() models.Input {
	verb := models.Acquire
	switch {
	case o.release && o.shared:
		verb = models.ReleaseShared
	case o.release:
		verb = models.Release
	case o.shared:
		verb = models.AcquireShared
	}
	return models.Input{Process: o.process, Verb: verb}
}

// model returns the lock that the operations must be those of.
func (c *LinearizableChecker) model() porcupine.Model {
	switch {
	case c.sharing:
		return models.ReadWrite
	case c.Places > 1:
		return models.Semaphore(c.Places)
	}
	return models.Owner
}

// shortestViolation returns the number of endpoints of the shortest prefix that is not
// linearizable, 0 if there is none, or undecided. Since every prefix of a linearizable history is
// linearizable, it uses a binary search.
func (c *LinearizableChecker) shortestViolation() int {
	all := min(len(c.endpoints), 2*maxOperations)
	switch c.checkPrefix(all) {
	case models.Holds:
		if all < len(c.endpoints) {
			return undecided
		}
		return 0
	case models.Unknown:
		return undecided
	}
	return sort.Search(all, func(n int) bool { return c.checkPrefix(n) == models.Violated })
}

func (c *LinearizableChecker) checkPrefix(n int) models.Verdict {
	return models.Check(c.model(), c.prefix(n), models.Limits{Steps: maxSteps})
}

// prefix returns the operations of the first n endpoints. It omits an acquire that has not returned
// there, because no returned operation depends on it. It keeps a release that has not returned,
// which may have taken effect or not: no other process can release the grant, so if an order
// without the release is legal, so is one with the release at the end.
func (c *LinearizableChecker) prefix(n int) []porcupine.Operation {
	var operations []porcupine.Operation
	for i := range c.operations {
		o := &c.operations[i]
		if o.ret < n || o.release && o.call < n {
			operations = append(operations, porcupine.Operation{
				ClientId: int(o.process) - 1, Input: o.input(),
				Output: models.Output{Token: o.token},
				Call:   int64(o.call), Return: int64(o.ret),
			})
		}
	}
	return operations
}

// build makes the operations of the events and their canonical history.
func (c *LinearizableChecker) build(events []history.Event) {
	c.queue.Reset()
	c.grants, c.sharing = c.grants[:0], false
	for i := range events {
		e := &events[i]
		if history.QueueKinds>>e.Kind&1 == 0 {
			continue
		}
		switch e.Kind {
		case history.LockReturn:
			if e.Err == "" && e.Process != 0 { // In the model, process 0 is none.
				c.grant(e, i)
			}
		case history.NodeDeleted:
			c.delete(e.Path, i)
		case history.UnlockCall, history.UnlockReturn:
			c.unlock(e, i)
		}
		c.queue.Observe(e, i)
	}
	c.operations, c.endpoints = c.operations[:0], c.endpoints[:0]
	for g := range c.grants {
		c.addGrant(&c.grants[g], len(events))
	}
	c.canonicalize()
}

func (c *LinearizableChecker) grant(e *history.Event, i int) {
	g := grant{
		process: e.Process, attempt: e.Attempt, shared: e.Shared(), token: e.Zxid, node: -1,
		call: i, granted: i,
	}
	c.sharing = c.sharing || g.shared
	if o := c.queue.OpenAttempt(e.Process); o >= 0 {
		g.call = c.queue.Open[o].Call
	}
	if n := c.queue.Granted(e); n >= 0 {
		g.node, g.deleted = c.queue.Nodes[n].Created, c.queue.Nodes[n].Deleted
	}
	c.grants = append(c.grants, g)
}

// delete records the deletion of a node in every grant by it. It scans the grants backwards and
// stops at the first one from before the node, so that a long history of grants costs little.
func (c *LinearizableChecker) delete(path string, i int) {
	n := c.queue.Live(path)
	if n < 0 {
		return
	}
	for g := len(c.grants) - 1; g >= 0 && c.grants[g].granted > c.queue.Nodes[n].Created; g-- {
		if c.grants[g].node == c.queue.Nodes[n].Created {
			c.grants[g].deleted = i
		}
	}
}

func (c *LinearizableChecker) unlock(e *history.Event, i int) {
	for n := len(c.grants) - 1; n >= 0; n-- {
		g := &c.grants[n]
		if g.process != e.Process || g.attempt != e.Attempt {
			continue
		}
		if e.Kind == history.UnlockCall && g.unlock == 0 {
			g.unlock = i
		} else if e.Kind == history.UnlockReturn && e.Err == "" {
			g.unlocked = i
		}
		return
	}
}

// addGrant adds the acquire and the release of a grant.
func (c *LinearizableChecker) addGrant(g *grant, end int) {
	acquire := operation{
		process: g.process, shared: g.shared, token: g.token, event: g.granted,
	}
	if g.deleted != 0 && g.deleted < g.granted {
		c.add(acquire, g.call*slots+slotAcquire, g.deleted*slots+slotAcquire)
		c.addRelease(g, g.deleted, g.deleted)
		return
	}
	c.add(acquire, g.call*slots+slotAcquire, g.granted*slots+slotAcquire)
	from, to := g.unlock, g.deleted
	switch {
	case g.node < 0 && g.unlock == 0, g.node >= 0 && g.deleted == 0 && !(c.Cut && g.unlock != 0):
		return
	case g.node < 0 && g.unlocked == 0, g.node >= 0 && g.deleted == 0:
		to = end - 1
	case g.node < 0, g.unlock != 0 && g.unlock < g.deleted && g.deleted < g.unlocked:
		to = g.unlocked
	case g.unlock == 0 || g.deleted < g.unlock:
		from = g.deleted
	}
	c.addRelease(g, from, to)
}

func (c *LinearizableChecker) addRelease(g *grant, from, to int) {
	c.add(operation{process: g.process, release: true, shared: g.shared, event: to},
		from*slots+slotRelease, to*slots+slotReleased)
}

func (c *LinearizableChecker) add(o operation, from, to int) {
	n := len(c.operations)
	o.from, o.to = from, to
	c.operations = append(c.operations, o)
	c.endpoints = append(c.endpoints, endpoint{from, n, false}, endpoint{to, n, true})
}

// canonicalize sorts the endpoints and writes the key. The key encodes a call as the process and
// its verb, and a return as the number of the operation. The sort is stable, because two grants of
// one node can end at the same instant.
func (c *LinearizableChecker) canonicalize() {
	slices.SortStableFunc(c.endpoints,
		func(a, b endpoint) int { return cmp.Compare(a.instant, b.instant) })
	c.key, c.names = c.key[:0], c.names[:0]
	calls := 0
	for i, p := range c.endpoints {
		o := &c.operations[p.operation]
		if p.isReturn {
			o.ret = i
			c.key = binary.AppendUvarint(c.key, uint64(o.number)<<1|1)
			continue
		}
		o.number, o.call = calls, i
		calls++
		word := uint64(c.canonicalProcess(o.process))<<3 | bit(o.release, 1) | bit(o.shared, 2)
		c.key = binary.AppendUvarint(c.key, word)
	}
}

func (c *LinearizableChecker) canonicalProcess(process int32) int {
	for n, name := range c.names {
		if name == process {
			return n
		}
	}
	c.names = append(c.names, process)
	return len(c.names) - 1
}
