package check

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/history"
)

const (
	reasonHerd      = "one release woke more waiting processes than the lock allows"
	reasonExpensive = "an acquire cost more requests than the lock allows"
	reasonLongName  = "the name of a node is longer than the lock allows"
	reasonLeftWatch = "a process watches a node that does not exist"
)

// A Cost is the cost of acquires and releases in a history. It counts only undisturbed acquires;
// see [NoHerd].
type Cost struct {
	Releases, WakeUps  int // releases, and the waiting processes that they woke
	WakeUpsMax         int // by one release
	Acquires, Requests int // undisturbed acquires, and their requests
	RequestsMax        int // of one acquire
	Bytes, BytesMax    int // of these requests and their replies, if the history has their lengths
}

// Add adds the cost of another history.
func (c *Cost) Add(other *Cost) {
	c.Releases += other.Releases
	c.WakeUps += other.WakeUps
	c.WakeUpsMax = max(c.WakeUpsMax, other.WakeUpsMax)
	c.Acquires += other.Acquires
	c.Requests += other.Requests
	c.RequestsMax = max(c.RequestsMax, other.RequestsMax)
	c.Bytes += other.Bytes
	c.BytesMax = max(c.BytesMax, other.BytesMax)
}

// An attemptCost is the cost of a process's open attempt so far.
type attemptCost struct {
	process   int32
	open      bool
	requests  int
	changes   int // nodes deleted during the attempt
	bytes     int
	inFlight  int // requests without a reply, and fired watches whose event is not delivered
	disturbed bool
}

// A release is the deletion of a holder's node and the set of processes that it has woken, one bit
// for each process by its number modulo 128.
type release struct {
	zxid   int64
	path   string
	holder int32
	woken  [2]uint64
}

// releasesKept is the number of recent releases whose wake-ups are counted. A follower fires the
// watches of a release when it applies the release, which may be several releases later.
const releasesKept = 8

// An armedWatch is a watch that a process has set while it waits.
type armedWatch struct {
	watch, process int32
	path           string
}

// NoHerd decides [history.NoHerd]: a release wakes at most Limits.WakeUps waiting processes, and an
// undisturbed acquire takes at most Limits.Requests requests, plus Limits.RequestsPerChange for
// each node deleted during it.
//
// The events of the property are:
//   - A release, which is the deletion of a holder's node by any process. It wakes a waiting
//     process if its transaction fires a watch of the process on the node or on the directory. Each
//     process counts once, and only for a watch that it has set in its open attempt, while its own
//     node, if any, was live. A process in shared mode does not count if nobody waits for exclusive
//     mode before it: the release lets it in.
//   - An acquire, which is a LockCall up to a LockReturn without an error. Its requests are those
//     that its process sends in between, except connects, pings, auths, renewals of watches and
//     closes.
//   - The creation of an ephemeral node, if the limits have a NameLength: the last element of its
//     path is no longer.
//   - A watch that a process sets on a node that does not exist, if the limits have NoExistWatches:
//     there is none.
//
// The property does not cover a disturbed acquire, because retries have no bound: a fault struck
// the process, the state of its connection changed, or time passed while a reply or a watch event
// was in flight.
//
// The check takes time linear in the events, times the number of live nodes and processes.
func NoHerd(events []history.Event, limits history.Limits) *history.Violation {
	_, v := Measure(events, limits)
	return v
}

// Measure returns the cost of a history and decides [history.NoHerd] as [NoHerd] does. If the
// history breaks the property, the cost is that of the events before the violation.
func Measure(events []history.Event, limits history.Limits) (Cost, *history.Violation) {
	m := herdMonitor{limits: &limits}
	v := decide(history.NoHerd, &m, events)
	return m.cost, v
}

type herdMonitor struct {
	limits   *history.Limits
	cost     Cost
	releases [releasesKept]release
	next     int
	armed    []armedWatch
	costs    []attemptCost
	crashed  []int32
	// there are several servers, which may fire the watches of a release at different times
	several bool
}

func (m *herdMonitor) reset() {
	*m = herdMonitor{
		limits: m.limits, armed: m.armed[:0], costs: m.costs[:0],
		crashed: m.crashed[:0],
	}
}

func (m *herdMonitor) copy(from monitor) {
	other, old := from.(*herdMonitor), *m
	*m = *other
	m.armed, m.costs = append(old.armed[:0], other.armed...),
		append(old.costs[:0], other.costs...)
	m.crashed = append(old.crashed[:0], other.crashed...)
}

func (m *herdMonitor) finish([]history.Event) *history.Violation { return nil }

// state does not fold in the cost of a disturbed attempt, to which the property does not apply.
func (m *herdMonitor) state(_ *queue, s *State) {
	costs, armed := uint64(0), uint64(0)
	for i := range m.costs {
		x := &m.costs[i]
		if s.ended(x.process) || slices.Contains(m.crashed, x.process) {
			continue
		}
		h := fold(uint64(x.process), uint64(x.inFlight)<<2|bit(x.open, 0)|bit(x.open &&
			x.disturbed, 1))
		if x.open && !x.disturbed {
			h = fold(h, uint64(x.requests)<<32|uint64(x.changes))
		}
		costs += h
	}
	for _, a := range m.armed {
		armed += fold(s.text(a.path), uint64(a.process))
	}
	s.fold(costs, armed)
	if !m.several {
		return
	}
	for i := range m.releases {
		r := &m.releases[(m.next+i)%releasesKept]
		s.fold(uint64(r.zxid), uint64(r.holder))
		s.fold(r.woken[0], r.woken[1])
	}
}

// freedom: an earlier LockCall may allow more requests or need more, as more nodes are deleted in
// the attempt. A process that returns earlier cannot be woken, and no longer keeps others waiting
// that share the lock. The process alone sends and receives its messages, and a fault disturbs its
// attempts alone.
func (m *herdMonitor) freedom(q *queue, e *history.Event) freedom {
	switch e.Kind {
	case history.LockCall:
		return later
	case history.LockReturn:
		sharing := func(o history.OpenAttempt) bool { return o.Shared }
		armed := func(a armedWatch) bool { return a.process == e.Process }
		return free(!slices.ContainsFunc(m.armed, armed) &&
			(e.Shared() || !slices.ContainsFunc(q.Open, sharing)), sooner) & queueFreedom(q, e)
	case history.UnlockCall, history.UnlockReturn, history.Send, history.Reply,
		history.WatchEvent, history.SessionState, history.Fault, history.Crashed:
		return anywhere
	}
	return fixed
}

func (m *herdMonitor) observe(q *queue, log []history.Event, i int) *history.Violation {
	e := &log[i]
	switch e.Kind {
	case history.Applied:
		m.several = true
		return nil
	case history.Tick,
		history.Send,
		history.Reply,
		history.WatchEvent,
		history.SessionState,
		history.Fault: // the majority of events
		m.costs = updateCosts(m.costs, e)
		return nil
	case history.Crashed:
		m.crashed = append(m.crashed, e.Process)
	case history.NodeDeleted:
		if n := q.Live(e.Path); n >= 0 {
			m.deleted(e, &q.Nodes[n])
			if q.Nodes[n].Holder == 0 {
				// A process without its node does not wait, even if it has watches.
				m.armed = withoutArmed(m.armed, q.Nodes[n].Process)
			}
		}
	case history.NodeCreated, history.WatchArmed:
		if v := m.wasted(e, i); v != nil {
			return v
		}
	case history.WatchFired:
		if woken := m.fired(q, e); woken > m.limits.WakeUps {
			return &history.Violation{
				Property: history.NoHerd, Event: i, Reason: reasonHerd,
				Detail:   m.wokenDetail(log, i),
				Evidence: history.Evidence{Process: e.Process, Zxid: e.Zxid, Count: woken},
			}
		}
	case history.LockReturn:
		if spent := m.acquired(e); spent != nil && spent.requests > m.limits.Requests+
			spent.changes*m.limits.RequestsPerChange {
			return &history.Violation{
				Property: history.NoHerd, Event: i, Reason: reasonExpensive,
				Detail: fmt.Sprintf("c%d sent %d requests in attempt %d, during which %d nodes "+
					"were deleted",
					e.Process,
					spent.requests, e.Attempt, spent.changes),
				Evidence: history.Evidence{
					Process: e.Process, Count: spent.requests, Changes: spent.changes,
				},
			}
		}
	}
	m.watch(q, e)
	m.costs = updateCosts(m.costs, e)
	return nil
}

// wasted returns a violation if an event shows too long a name, or a watch that may stay for ever.
func (m *herdMonitor) wasted(e *history.Event, i int) *history.Violation {
	name := e.Path[strings.LastIndexByte(e.Path, '/')+1:]
	most := m.limits.NameLength
	switch {
	case e.Kind == history.NodeCreated && e.Session != 0 && most > 0 && len(name) > most:
		return &history.Violation{
			Property: history.NoHerd, Event: i, Reason: reasonLongName,
			Detail: fmt.Sprintf("c%d's node %s has a name of %d bytes; the lock allows %d",
				e.Process, e.Path, len(name), most),
			Evidence: history.Evidence{Process: e.Process, Path: e.Path, Count: len(name)},
		}
	case e.Kind == history.WatchArmed && e.Request != 0 && e.Name == "exist" &&
		m.limits.NoExistWatches:
		return &history.Violation{
			Property: history.NoHerd, Event: i, Reason: reasonLeftWatch,
			Detail: fmt.Sprintf("c%d set watch %d on %s", e.Process, e.Watch, e.Path),
			Evidence: history.Evidence{
				Process: e.Process, Path: e.Path, Watch: e.Watch,
			},
		}
	}
	return nil
}

// deleted counts a release, if the node was a holder's.
func (m *herdMonitor) deleted(e *history.Event, n *history.QueueNode) {
	if n.Holder == 0 {
		return
	}
	m.cost.Releases++
	m.releases[m.next%releasesKept] = release{zxid: e.Zxid, path: e.Path, holder: n.Holder}
	m.next++
}

// fired counts a watch that has fired, and returns the number of processes that its release has
// woken so far.
func (m *herdMonitor) fired(q *queue, e *history.Event) int {
	if findArmed(m.armed, e) < 0 || letsIn(q, e.Process) {
		return 0
	}
	released := m.releaseOf(e)
	if released == nil {
		return 0
	}
	if !released.woke(e.Process) {
		bit := releaseBit(e.Process)
		released.woken[bit>>6] |= uint64(1) << (bit & 63)
		m.cost.WakeUps++
	}
	woken := bits.OnesCount64(released.woken[0]) + bits.OnesCount64(released.woken[1])
	m.cost.WakeUpsMax = max(m.cost.WakeUpsMax, woken)
	return woken
}

// releaseOf returns the release that fired a watch, or nil.
func (m *herdMonitor) releaseOf(e *history.Event) *release {
	for r := range m.releases {
		released := &m.releases[r]
		if released.zxid == e.Zxid && (released.path == e.Path ||
			history.Directory(released.path) == e.Path) &&
			released.holder != 0 && released.holder != e.Process {
			return released
		}
	}
	return nil
}

// releaseBit returns the bit of a process or thread in a release.
func releaseBit(number int32) int32 {
	process, thread := history.ProcessOf(number)
	return (process + int32(thread-1)*16) & 127
}

// woke reports whether the release has woken a process.
func (r *release) woke(process int32) bool {
	bit := releaseBit(process)
	return r.woken[bit>>6]&(1<<(bit&63)) != 0
}

// wokenDetail names the processes that a release has woken, in order, the last one by event i.
func (m *herdMonitor) wokenDetail(log []history.Event, i int) string {
	released, at, names := m.releaseOf(&log[i]), 0, []string(nil)
	for n := range log[:i+1] {
		e := &log[n]
		if e.Zxid != released.zxid {
			continue
		}
		switch name := fmt.Sprintf("c%d", e.Process); {
		case e.Kind == history.NodeDeleted && e.Path == released.path:
			at = n
		case e.Kind == history.WatchFired && released.woke(e.Process) &&
			!slices.Contains(names, name):
			names = append(names, name)
		}
	}
	return fmt.Sprintf("the release at event %d woke %d processes: %s", at, len(names),
		strings.Join(names, ", then "))
}

// watch updates the armed watches. It ignores a watch that the client library has set again, which
// may be left over from an earlier attempt, and a watch for the creation of a node, because a
// release is a deletion.
func (m *herdMonitor) watch(q *queue, e *history.Event) {
	switch e.Kind {
	case history.WatchArmed:
		if e.Request != 0 && e.Name != "exist" && q.OpenAttempt(e.Process) >= 0 &&
			!slices.Contains(m.crashed, e.Process) && !orphaned(q, e.Process) {
			m.armed = append(m.armed, armedWatch{e.Watch, e.Process, e.Path})
		}
	case history.WatchFired, history.WatchGone:
		if n := findArmed(m.armed, e); n >= 0 {
			m.armed = append(m.armed[:n], m.armed[n+1:]...)
		}
	case history.LockCall, history.LockReturn, history.Crashed:
		m.armed = withoutArmed(m.armed, e.Process)
	}
}

func findArmed(armed []armedWatch, e *history.Event) int {
	for n := range armed {
		if armed[n].watch == e.Watch && armed[n].process == e.Process {
			return n
		}
	}
	return -1
}

// letsIn reports whether a process waits in shared mode and no process waits for exclusive mode by
// an older node.
func letsIn(q *queue, process int32) bool {
	o := q.OpenAttempt(process)
	if o < 0 || !q.Open[o].Shared {
		return false
	}
	for n := range q.Nodes {
		m := &q.Nodes[n]
		if !m.Waiting || m.Deleted != 0 || !m.Ephemeral {
			continue
		}
		if m.Process == process {
			return true
		}
		if !m.Shared {
			return false
		}
	}
	return false
}

// orphaned reports whether the process has created nodes in its open attempt and all are deleted.
// Then it does not wait, even if it does not know yet.
func orphaned(q *queue, process int32) bool {
	gone := false
	for n := range q.Nodes {
		if q.Nodes[n].Process == process && q.Nodes[n].Waiting {
			if q.Nodes[n].Deleted == 0 {
				return false
			}
			gone = true
		}
	}
	return gone
}

func withoutArmed(armed []armedWatch, process int32) []armedWatch {
	kept := armed[:0]
	for _, a := range armed {
		if a.process != process {
			kept = append(kept, a)
		}
	}
	return kept
}

// acquired counts an acquire that has returned. It returns its cost, or nil if the property does
// not cover it.
func (m *herdMonitor) acquired(e *history.Event) *attemptCost {
	x := findCost(m.costs, e.Process)
	if x < 0 || e.Err != "" || !m.costs[x].open || m.costs[x].disturbed {
		return nil
	}
	spent := &m.costs[x]
	m.cost.Acquires++
	m.cost.Requests += spent.requests
	m.cost.RequestsMax = max(m.cost.RequestsMax, spent.requests)
	m.cost.Bytes += spent.bytes
	m.cost.BytesMax = max(m.cost.BytesMax, spent.bytes)
	return spent
}

// updateCosts updates the costs of the open attempts.
func updateCosts(costs []attemptCost, e *history.Event) []attemptCost {
	switch e.Kind {
	case history.Tick:
		for x := range costs {
			costs[x].disturbed = costs[x].disturbed || costs[x].inFlight > 0
		}
		return costs
	case history.NodeDeleted:
		for x := range costs {
			costs[x].changes++
		}
		return costs
	case history.LockCall, history.Send, history.Reply, history.WatchFired, history.WatchEvent,
		history.SessionState, history.Fault, history.LockReturn:
	default:
		return costs
	}
	if e.Kind == history.Fault && e.Process == 0 { // A server's fault may disturb any process.
		for x := range costs {
			costs[x].disturbed = true
		}
		return costs
	}
	x := findCost(costs, e.Process)
	if x < 0 {
		x = len(costs)
		costs = append(costs, attemptCost{process: e.Process})
	}
	costs[x].add(e)
	return costs
}

// add adds an event of the process. Messages in flight outlive an attempt and end with the
// connection.
func (x *attemptCost) add(e *history.Event) {
	switch e.Kind {
	case history.LockCall:
		*x = attemptCost{process: x.process, open: true, inFlight: x.inFlight}
	case history.LockReturn:
		x.open = false
	case history.Send:
		x.inFlight++
		if isLockRequest(e.Op) {
			x.requests++
			x.bytes += int(e.Bytes)
		}
	case history.WatchFired:
		x.inFlight++
	case history.WatchEvent, history.Reply:
		x.inFlight = max(0, x.inFlight-1)
		if e.Kind == history.Reply && isLockRequest(e.Op) {
			x.bytes += int(e.Bytes)
		}
	case history.SessionState:
		x.disturbed, x.inFlight = true, 0
	case history.Fault:
		x.disturbed = true
	}
}

// isLockRequest reports whether lock code requests the operation, and not the client library by
// itself.
func isLockRequest(op string) bool {
	switch op {
	case "connect", "close", "set-watches", "ping", "auth":
		return false
	}
	return true
}

func findCost(costs []attemptCost, process int32) int {
	for x := range costs {
		if costs[x].process == process {
			return x
		}
	}
	return -1
}
