package history

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"

	"github.com/anishathalye/porcupine"

	"github.com/interlock-sim/interlock/history/models"
)

const reasonNoOrder = "no order of the operations is one that a lock allows"

const (
	// maxVerdicts bounds the cache of a LinearizableChecker. A key takes two bytes or so for each
	// call and return, so that a full cache is a few megabytes. One that is full is emptied: what a
	// search produces drifts, and old histories do not come back more often than new ones.
	maxVerdicts = 1 << 15

	// maxOperations bounds what is given to porcupine. A history of more operations is judged by
	// its first ones: as every beginning of a linearizable history is linearizable, no violation
	// that is found is false. Where none is found the verdict is unknown.
	maxOperations = 4096

	// maxSteps bounds the search of porcupine in steps and not in time, so that the verdict never
	// depends on the speed of the machine. It is about a second's worth.
	maxSteps = 2_000_000

	undecided = -1 // stands for a verdict
)

// A grant is an attempt that got the lock, with the indexes of the events that bound its
// operations.
type grant struct {
	process, attempt int32
	token            int64
	node             int // the index of the creation of its node, -1 if it has none that is known
	call, granted    int // LockCall and LockReturn
	deleted          int // NodeDeleted of its node; like the following, 0 if there is none
	unlock, unlocked int // UnlockCall, and the UnlockReturn without an error
}

// An operation spans the time from call to back. Times are positions in the canonical history.
type operation struct {
	process   int32
	release   bool
	token     int64 // of an acquire
	event     int   // the index of the event that tells that the operation is over
	number    int   // operations are numbered in the order of their calls
	call, ret int
	from, to  int // the instants of the events, as endpoints have them
}

// An endpoint is the call or the return of an operation.
type endpoint struct {
	instant   int // the index of the event, times slots, plus one of the slots
	operation int
	isReturn  bool
}

// One event can bound several operations: a deletion can end an acquire, and begin and end a
// release. The slots give these an order.
const (
	slotAcquire = iota
	slotRelease
	slotReleased
	slots
)

// A LinearizableChecker decides [Linearizable] and remembers its verdicts by the canonical history
// of operations, which is the order of their calls and returns, with the processes renamed by their
// first appearance. Runs differ much more in their events than in that, and so nearly all of them
// cost a lookup. The zero value is ready for use. It is not safe for concurrent use.
type LinearizableChecker struct {
	Cut bool // the histories are beginnings of longer ones

	// how many endpoints make the shortest beginning that is wrong, 0 if none is, or undecided
	verdicts map[string]int
	unknown  bool // the last check was not decided

	// What follows is scratch.

	queue      queue
	grants     []grant
	operations []operation
	endpoints  []endpoint
	names      []int32 // the processes in the order of their first appearance
	key        []byte
}

// CheckLinearizable decides [Linearizable] as a [LinearizableChecker] does, without remembering
// anything.
func CheckLinearizable(events []Event) *Violation { return new(LinearizableChecker).Check(events) }

// LockOperations returns the operations that [LinearizableChecker.Check] judges, for porcupine to
// check or visualize with [models.Owner], [models.Mutex] or [models.Fenced]. Their times are
// positions in the canonical history and not indexes of events.
func LockOperations(events []Event) []porcupine.Operation {
	c := new(LinearizableChecker)
	c.build(events)
	return c.prefix(len(c.endpoints))
}

// Check decides [Linearizable]: what the processes were told can be explained by one lock that they
// used one at a time.
//
// The property holds if the operations can be put in an order that [models.Owner] allows, and in
// which an operation that ended before another began comes before it. The operations are made of
// the grants, that is, of the attempts of which Lock returned without an error; an attempt that
// failed or never returned is no operation, since nobody was told that it had the lock. What a
// process was not told of is taken from the ensemble's own events:
//   - A grant is an acquire from the call of Lock to its return. If its node was deleted before
//     that return, which happens when a session expires while the good news is under way, then the
//     process had the lock before the deletion or never. Its acquire then ends at the deletion, and
//     its release is at the deletion.
//   - If the node was deleted before Unlock was called, or Unlock never was, the release is at the
//     deletion: until then the ensemble kept the lock for the process, and whatever it did itself,
//     it did not release it.
//   - If the node was deleted during a call of Unlock that succeeded, the release is that call.
//   - If the node was deleted after the call of Unlock in any other way, such as by a retry in the
//     background after Unlock returned an error, the release is from that call to the deletion. It
//     cannot be held against the lock if it serves another process earlier, since from the call on
//     the holder has renounced it.
//   - If the node was never deleted, there is no release. But if Unlock was called and the history
//     is a beginning only ([LinearizableChecker].Cut), it is from that call to the end, for the
//     node may go yet.
//   - If no node is known, the release is the call of Unlock, and if that did not succeed, it is
//     from that call to the end of the history.
//
// All grants of a history are taken to be of one lock. The event of the violation is the last one
// of the shortest beginning of the history that is wrong; for an acquire it is the return of Lock,
// which is what tells of it.
//
// Building the operations takes time linear in the events, times the number of live nodes, and
// sorting them takes O(n log n) in their number. A history whose verdict is known allocates
// nothing. The search for a verdict is exponential in the number of operations that overlap, which
// is that of processes, but not in the length.
func (c *LinearizableChecker) Check(events []Event) *Violation {
	c.build(events)
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
	return &Violation{
		Property: Linearizable, Event: last.event, Reason: reasonNoOrder,
		Detail: fmt.Sprintf("%s, as event %d tells, where no order of the acquires and releases "+
			"so far "+
			"leaves it possible",
			models.Owner.DescribeOperation(last.input(), nil), last.event),
	}
}

// Undecided tells whether the last check has reached its limits before it came to a verdict: then
// no violation is known, and that is no reason to believe that there is none.
func (c *LinearizableChecker) Undecided() bool { return c.unknown }

func (o *operation) input() models.Input {
	if o.release {
		return models.Input{Process: o.process, Verb: models.Release}
	}
	return models.Input{Process: o.process, Verb: models.Acquire}
}

// shortestViolation returns how many endpoints make the shortest beginning that is not
// linearizable, 0 if there is none, or undecided. A beginning of one that is linearizable is so
// too, which allows a binary search.
func (c *LinearizableChecker) shortestViolation() int {
	all := min(len(c.endpoints), 2*maxOperations)
	switch c.judge(all) {
	case models.Holds:
		if all < len(c.endpoints) {
			return undecided
		}
		return 0
	case models.Unknown:
		return undecided
	}
	return sort.Search(all, func(n int) bool { return c.judge(n) == models.Violated })
}

func (c *LinearizableChecker) judge(n int) models.Verdict {
	return models.Check(models.Owner, c.prefix(n), models.Limits{Steps: maxSteps})
}

// prefix returns the operations of the first n endpoints. An acquire that has not returned there
// is left out, for nothing that has returned can depend on it. A release that has not returned
// there may have taken effect or not, and is kept: as nobody but its process can release that
// grant, putting it last is legal if leaving it out is.
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

// build makes the operations and their canonical history from the events.
func (c *LinearizableChecker) build(events []Event) {
	c.queue.reset()
	c.grants = c.grants[:0]
	for i := range events {
		e := &events[i]
		if queueKinds>>e.Kind&1 == 0 {
			continue
		}
		switch e.Kind {
		case LockReturn:
			if e.Err == "" && e.Process != 0 { // to the model, 0 is no process
				c.grant(e, i)
			}
		case NodeDeleted:
			c.delete(e.Path, i)
		case UnlockCall, UnlockReturn:
			c.unlock(e, i)
		}
		c.queue.observe(e, i)
	}
	c.operations, c.endpoints = c.operations[:0], c.endpoints[:0]
	for g := range c.grants {
		c.addGrant(&c.grants[g], len(events))
	}
	c.canonicalize()
}

func (c *LinearizableChecker) grant(e *Event, i int) {
	g := grant{process: e.Process, attempt: e.Attempt, token: e.Zxid, node: -1, call: i, granted: i}
	if o := c.queue.openAttempt(e.Process); o >= 0 {
		g.call = c.queue.open[o].call
	}
	if n := c.queue.granted(e); n >= 0 {
		g.node, g.deleted = c.queue.nodes[n].created, c.queue.nodes[n].deleted
	}
	c.grants = append(c.grants, g)
}

// delete notes the deletion of a node with every grant that rests on it. It looks at the grants
// from the last one backwards and stops at the first that was made before the node, so that a long
// history of grants costs little.
func (c *LinearizableChecker) delete(path string, i int) {
	n := c.queue.live(path)
	if n < 0 {
		return
	}
	for g := len(c.grants) - 1; g >= 0 && c.grants[g].granted > c.queue.nodes[n].created; g-- {
		if c.grants[g].node == c.queue.nodes[n].created {
			c.grants[g].deleted = i
		}
	}
}

func (c *LinearizableChecker) unlock(e *Event, i int) {
	for n := len(c.grants) - 1; n >= 0; n-- {
		g := &c.grants[n]
		if g.process != e.Process || g.attempt != e.Attempt {
			continue
		}
		if e.Kind == UnlockCall && g.unlock == 0 {
			g.unlock = i
		} else if e.Kind == UnlockReturn && e.Err == "" {
			g.unlocked = i
		}
		return
	}
}

// addGrant adds the acquire and the release of a grant.
func (c *LinearizableChecker) addGrant(g *grant, end int) {
	if g.deleted != 0 && g.deleted < g.granted {
		c.add(operation{process: g.process, token: g.token, event: g.granted}, g.call*slots+
			slotAcquire,
			g.deleted*slots+slotAcquire)
		c.addRelease(g.process, g.deleted, g.deleted)
		return
	}
	c.add(operation{process: g.process, token: g.token, event: g.granted}, g.call*slots+slotAcquire,
		g.granted*slots+slotAcquire)
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
	c.addRelease(g.process, from, to)
}

func (c *LinearizableChecker) addRelease(process int32, from, to int) {
	c.add(operation{process: process, release: true, event: to}, from*slots+slotRelease,
		to*slots+slotReleased)
}

func (c *LinearizableChecker) add(o operation, from, to int) {
	n := len(c.operations)
	o.from, o.to = from, to
	c.operations = append(c.operations, o)
	c.endpoints = append(c.endpoints, endpoint{from, n, false}, endpoint{to, n, true})
}

// canonicalize orders the endpoints and writes the key. A call is written as the process and what
// it does, a return as the number of the operation that returns. The sort is stable, so that even
// where two grants of one node end with its deletion at the same instant the order is settled.
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
		word := uint64(c.canonicalProcess(o.process)) << 2
		if o.release {
			word |= 2
		}
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
