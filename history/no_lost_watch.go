package history

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
)

const (
	reasonNeverArmed    = "a watch fired that was never armed"
	reasonFiredTwice    = "a watch fired twice"
	reasonFiredGone     = "a watch fired after it was gone"
	reasonFiredUncaused = "a watch fired without a change to its node"
	reasonNotFired      = "a change to a node did not fire a watch on it"
	reasonFiredInPart   = "a change fired some of the watches on it and not others"
	reasonWrongType     = "an event of a watch has another type than the change that fired it"
	reasonEventOrder    = "an event was delivered after one of a later change"
	reasonEventInvented = "an event was delivered of a watch that had not fired"
	reasonEventTwice    = "an event was delivered twice"
	reasonReplyFirst    = "a reply overtook the event of an older change"
	reasonEventLost     = "a watch fired and its event was never delivered"
	reasonGoneSilently  = "a watch was gone and its owner was not told"
)

// notWatching is the name of the WatchEvent by which a client library tells that a watch is gone.
const notWatching = "not-watching"

// A watch is one that is not settled: its event has not been delivered, or it is gone and its owner
// does not know.
type watch struct {
	path    string
	kind    string // data, exist or child
	zxid    int64  // of the change that fired it
	number  int32
	process int32
	request int32 // that asked for it
	server  int32 // that keeps it, where there are several
	// the zxid of a change that must fire it when its server applies it; 0 if there is none
	pendingZxid int64
	// the index of the event that armed it, fired it, or ended it, whichever was last
	index    int
	name     string // the type that its event must have, empty if that is not known
	due      bool   // a change has triggered it and it must fire next
	fired    bool
	gone     bool
	notified bool // its owner was told that it is gone
	covered  bool // the event of another watch has told all that wait for the same

	answered bool // the request that asked for it last has been answered
}

// CheckNoLostWatch decides [NoLostWatch]: watches keep the promises that ZooKeeper makes about
// them.
//
// The property holds if all of this is so:
//   - A watch fires only if it was armed, once, and not after it is gone. It fires because of a
//     change: a "data" watch of a change to the node's data or its deletion, an "exist" watch of
//     its creation, a "child" watch of its deletion or of the creation or deletion of a direct
//     child. The change may lie before the arming if its zxid is not beyond that which the watch
//     reports, since a client that reconnects catches up on what it missed.
//   - A change fires every armed watch that it concerns before anything else happens: at the leader
//     of several servers when it is agreed on, at the others when they apply it. What a server that
//     lags behind has not applied when a watch is armed at it counts as a change after the arming.
//   - An event is delivered only of a watch that has fired, and no watch has two events. An event
//     "not-watching" says that the watch is gone, and needs no firing.
//   - An event has the type of the change that fired its watch, and the events of a connection are
//     delivered in the order of the changes.
//   - While the event of a watch is under way, no reply reaches its owner whose zxid is that of the
//     change or beyond and that was served after the watch had fired: a process sees the event
//     before it sees the new state. (A client that reconnects can read before it hands its watches
//     over; no server could tell it of the change sooner.)
//   - At the end of the history every watch that fired has had its event delivered, unless it is
//     gone or its owner has crashed.
//   - At the end of the history the owner of a watch that is gone, fired or not, has been told
//     "not-watching" of that path since, or has armed a watch of that path since, or has had the
//     event after all, unless the owner has crashed or its last known state is not "has-session":
//     then it knows that it cannot rely on its watches. A watch whose owner never had the reply to
//     the request for it is not owed to anyone, nor is one whose owner had the event of another
//     watch before it was gone that waits for the same: a client library hands an event to all that
//     wait for it. It is owed again to who asks for a watch of that path once more.
//
// A violation names, as its Guarantee, which of the nine guarantees it breaks that etcd has of its
// watches.
//
// It takes time linear in the events, times the number of watches that are not settled; a watch
// that fires without a change right before it, and a violation, cost another pass. It allocates
// only if more than a few watches are not settled at once.
func CheckNoLostWatch(events []Event) *Violation {
	return decide(NoLostWatch, new(watchMonitor), events)
}

type watchMonitor struct {
	watches        []watch // that are not settled
	due            int     // how many of them must fire next
	changed        int64   // the transaction that has triggered these
	delivered      []lastDelivered
	pendingReplies []pendingReply
	changes        []pathChanges
	owners         []watchOwner
}

// A pendingReply is a request that a server has handled and whose reply has not arrived.
type pendingReply struct{ process, request, index int32 }

// A pathChanges is when a znode was first changed in each way that fires watches; 0 stands for not
// yet.
type pathChanges struct {
	path                             string
	created, data, deleted, children int64
}

// A watchOwner is what is known of a process in the end.
type watchOwner struct {
	process    int32
	crashed    bool
	hasSession bool // by the last thing that its client library said
}

func (m *watchMonitor) reset() {
	*m = watchMonitor{
		watches: m.watches[:0], delivered: m.delivered[:0], pendingReplies: m.pendingReplies[:0],
		changes: m.changes[:0], owners: m.owners[:0],
	}
}

func (m *watchMonitor) copy(from monitor) {
	other := from.(*watchMonitor)
	m.watches, m.due, m.changed = append(m.watches[:0], other.watches...), other.due, other.changed
	m.delivered, m.pendingReplies = append(m.delivered[:0], other.delivered...),
		append(m.pendingReplies[:0], other.pendingReplies...)
	m.changes, m.owners = append(m.changes[:0], other.changes...),
		append(m.owners[:0], other.owners...)
}

// state does not hold which changes a server that lags behind has not applied: the state of the
// ensemble tells.
func (m *watchMonitor) state(_ *queue, s *State) {
	sum := uint64(0)
	for i := range m.watches {
		w := &m.watches[i]
		flags := bit(w.due, 0) | bit(w.fired, 1) | bit(w.gone, 2) | bit(w.notified,
			3) | bit(w.covered,
			4) | bit(w.answered, 5) |
			bit(w.request == 0, 6) | bit(w.pendingZxid != 0, 7)
		h := fold(fold(xxhash.Sum64String(w.path),
			uint64(uint32(w.process))<<32|uint64(uint32(w.server))<<8|flags),
			xxhash.Sum64String(w.kind))
		h = fold(h, xxhash.Sum64String(w.name))
		if w.fired {
			h = fold(h, uint64(w.zxid)<<1|bit(m.isLate(w), 0))
			for _, r := range m.pendingReplies {
				if r.process == w.process && int(r.index) < w.index {
					h = fold(h, 1)
				}
			}
		} else {
			h = fold(h, bit(m.firstCause(w) != 0, 0))
		}
		sum += h
	}
	owners := uint64(0)
	for _, o := range m.owners {
		owners += fold(uint64(o.process), bit(o.crashed, 0)|bit(o.hasSession, 1))
	}
	s.fold(sum, owners)
	s.fold(uint64(m.due), 0)
}

// visible: what processes do with their locks is no part of it.
func (m *watchMonitor) visible(*queue, *Event) bool { return false }

func (m *watchMonitor) observe(_ *queue, log []Event, i int) *Violation {
	e := &log[i]
	if m.due > 0 && e.Kind != WatchFired {
		return notFired(m.watches, i, m.changed)
	}
	switch e.Kind {
	case NodeCreated, NodeDeleted, NodeChanged:
		m.change(e)
		m.due, m.changed = trigger(m.watches, e), e.Zxid
	case Applied:
		m.due, m.changed = triggerApplied(m.watches, e), e.Zxid
	case WatchArmed:
		m.watches = withoutGone(m.watches, e)
		w := watch{
			path: e.Path, kind: e.Name, number: e.Watch,
			process: e.Process, request: e.Request, server: e.Server, index: i,
		}
		w.pendingZxid = firstUnapplied(log[:i], &w, e)
		m.watches = append(m.watches, w)
	case Serve:
		reassignCovered(m.watches, e)
		m.pendingReplies = append(m.pendingReplies, pendingReply{e.Process, e.Request, int32(i)})
	case WatchFired:
		return m.fire(log, i)
	case WatchGone:
		m.watches = endWatch(m.watches, e, i)
	case WatchEvent:
		return m.deliver(log, i)
	case SessionState:
		m.delivered = forgetDelivered(m.delivered, e.Process)
		m.owner(e.Process).hasSession = e.Name == "has-session"
	case Crashed:
		m.owner(e.Process).crashed = true
	case Reply:
		return m.reply(e, i)
	}
	return nil
}

// isLate reports whether the event of a watch that has fired will come after one of a later change.
// Those of changes to come cannot.
func (m *watchMonitor) isLate(w *watch) bool {
	return slices.ContainsFunc(m.delivered, func(t lastDelivered) bool {
		return t.process == w.process &&
			w.zxid < t.zxid
	})
}

func (m *watchMonitor) owner(process int32) *watchOwner {
	for o := range m.owners {
		if m.owners[o].process == process {
			return &m.owners[o]
		}
	}
	m.owners = append(m.owners, watchOwner{process: process})
	return &m.owners[len(m.owners)-1]
}

// change takes note of a change to a znode, which is one of its parent's children too if it is a
// creation or a deletion.
func (m *watchMonitor) change(e *Event) {
	c := m.changesOf(e.Path)
	switch e.Kind {
	case NodeCreated:
		setFirst(&c.created, e.Zxid)
	case NodeDeleted:
		setFirst(&c.deleted, e.Zxid)
	case NodeChanged:
		setFirst(&c.data, e.Zxid)
		return
	}
	setFirst(&m.changesOf(directory(e.Path)).children, e.Zxid)
}

func setFirst(at *int64, zxid int64) {
	if *at == 0 {
		*at = max(zxid, 1)
	}
}

func (m *watchMonitor) changesOf(path string) *pathChanges {
	for c := range m.changes {
		if m.changes[c].path == path {
			return &m.changes[c]
		}
	}
	m.changes = append(m.changes, pathChanges{path: path})
	return &m.changes[len(m.changes)-1]
}

// firstCause returns the transaction of the first change that could have fired the watch, 0 if
// there was none.
func (m *watchMonitor) firstCause(w *watch) (zxid int64) {
	earliest := func(ways ...int64) {
		for _, at := range ways {
			if at != 0 && (zxid == 0 || at < zxid) {
				zxid = at
			}
		}
	}
	for c := range m.changes {
		switch c := &m.changes[c]; {
		case c.path != w.path:
		case w.kind == "data":
			earliest(c.data, c.deleted)
		case w.kind == "exist":
			earliest(c.created)
		case w.kind == "child":
			earliest(c.children, c.deleted)
		}
	}
	return zxid
}

// fire takes note of a watch that has fired, by event number i.
func (m *watchMonitor) fire(log []Event, i int) *Violation {
	e := &log[i]
	w := findWatch(m.watches, e.Watch)
	if reason := m.judgeFired(log[:i], w, e); reason != "" {
		return watchViolation(i, reason, e.Watch, e.Process, e.Path)
	}
	fired := &m.watches[w]
	if fired.due {
		m.due--
	}
	fired.due, fired.fired, fired.zxid, fired.index = false, true, e.Zxid, i
	fired.name = e.Name
	return nil
}

// deliver takes note of a watch event that has reached its process, by event number i.
func (m *watchMonitor) deliver(log []Event, i int) *Violation {
	e := &log[i]
	w := findWatch(m.watches, e.Watch)
	if reason := judgeDelivered(log[:i], m.watches, w, e); reason != "" {
		return watchViolation(i, reason, e.Watch, e.Process, e.Path)
	}
	markCovered(m.watches, e)
	m.watches = deliver(m.watches, w, e)
	var late bool
	if m.delivered, late = deliverInOrder(m.delivered, e); late {
		return watchViolation(i, reasonEventOrder, e.Watch, e.Process, e.Path)
	}
	return nil
}

// reply takes note of a reply that has reached its process, by event number i.
func (m *watchMonitor) reply(e *Event, i int) *Violation {
	served := slices.IndexFunc(m.pendingReplies, func(r pendingReply) bool {
		return r.process == e.Process &&
			r.request == e.Request
	})
	since := i
	if served >= 0 {
		since = int(m.pendingReplies[served].index)
	}
	if w := findOvertaken(m.watches, e, since); w >= 0 {
		return watchViolation(i, reasonReplyFirst, m.watches[w].number, e.Process,
			m.watches[w].path)
	}
	for n := range m.watches {
		w := &m.watches[n]
		w.answered = w.answered || w.process == e.Process && w.request == e.Request
	}
	if served >= 0 {
		m.pendingReplies = slices.Delete(m.pendingReplies, served, served+1)
	}
	return nil
}

func watchViolation(i int, reason string, number, process int32, path string) *Violation {
	return &Violation{
		Property: NoLostWatch, Event: i, Reason: reason, Guarantee: guaranteeOf[reason],
		Detail: fmt.Sprintf("watch %d of c%d on %s", number, process, path),
	}
}

// A lastDelivered is the last change of which a connection has told its process.
type lastDelivered struct {
	process int32
	zxid    int64
}

// deliverInOrder notes that an event was delivered, and tells whether it comes after that of a
// later change.
func deliverInOrder(told []lastDelivered, e *Event) ([]lastDelivered, bool) {
	if e.Zxid == 0 {
		return told, false // The client library itself tells that a watch is gone.
	}
	for n := range told {
		if told[n].process == e.Process {
			late := e.Zxid < told[n].zxid
			told[n].zxid = e.Zxid
			return told, late
		}
	}
	return append(told, lastDelivered{e.Process, e.Zxid}), false
}

// forgetDelivered forgets what was told by a connection that has changed: another server may be
// behind.
func forgetDelivered(told []lastDelivered, process int32) []lastDelivered {
	for n := range told {
		if told[n].process == process {
			return append(told[:n], told[n+1:]...)
		}
	}
	return told
}

// trigger marks the watches that the change must fire, and returns how many they are.
func trigger(watches []watch, e *Event) int {
	due := 0
	for n := range watches {
		w := &watches[n]
		switch {
		case w.fired || w.gone || !triggers(e, w):
		case w.server == e.Server:
			w.due, w.name = true, typeOf(e, w)
			due++
		case w.pendingZxid == 0:
			w.pendingZxid, w.name = e.Zxid, typeOf(e, w)
		}
	}
	return due
}

// triggerApplied marks the watches that must fire now that their server has applied a change, and
// returns how many they are.
func triggerApplied(watches []watch, e *Event) int {
	due := 0
	for n := range watches {
		w := &watches[n]
		if !w.fired && !w.gone && w.server == e.Server && w.pendingZxid != 0 &&
			w.pendingZxid <= e.Zxid {
			w.due = true
			due++
		}
	}
	return due
}

// typeOf returns the type of the event by which a change shows to a watch.
func typeOf(e *Event, w *watch) string {
	switch {
	case w.kind == "child" && e.Path != w.path:
		return "children"
	case e.Kind == NodeCreated:
		return "created"
	case e.Kind == NodeDeleted:
		return "deleted"
	}
	return "changed"
}

// firstUnapplied returns the zxid of the first change that the watch's server had not applied when
// the watch was armed, though it was agreed on, and that concerns the watch; 0 if there is none.
func firstUnapplied(before []Event, w *watch, armed *Event) int64 {
	if armed.Server == 0 {
		return 0
	}
	for i := range before {
		if e := &before[i]; e.Zxid > armed.Zxid && triggers(e, w) {
			return e.Zxid
		}
	}
	return 0
}

// triggers reports whether a change fires a watch of that kind and path.
func triggers(e *Event, w *watch) bool {
	switch w.kind {
	case "data":
		return (e.Kind == NodeDeleted || e.Kind == NodeChanged) && e.Path == w.path
	case "exist":
		return e.Kind == NodeCreated && e.Path == w.path
	case "child":
		return e.Kind == NodeDeleted && e.Path == w.path ||
			(e.Kind == NodeCreated || e.Kind == NodeDeleted) && e.Path != w.path &&
				directory(e.Path) == w.path
	}
	return false
}

func notFired(watches []watch, i int, zxid int64) *Violation {
	n, reason := 0, reasonNotFired
	for !watches[n].due {
		n++
	}
	for m := range watches {
		if watches[m].fired && watches[m].zxid == zxid {
			reason = reasonFiredInPart
		}
	}
	return watchViolation(i, reason, watches[n].number, watches[n].process, watches[n].path)
}

// judgeFired returns what is wrong with a firing of watch w, which is -1 if no such watch is known.
// The events before it say only what became of the watch.
func (m *watchMonitor) judgeFired(before []Event, w int, e *Event) string {
	switch {
	case w < 0 && hasWatch(before, WatchGone, e.Watch), w >= 0 && m.watches[w].gone:
		return reasonFiredGone
	case w < 0 && hasWatch(before, WatchFired, e.Watch), w >= 0 && m.watches[w].fired:
		return reasonFiredTwice
	case w < 0:
		return reasonNeverArmed
	}
	fired := &m.watches[w]
	switch cause := m.firstCause(fired); {
	case !fired.due && (cause == 0 || cause > max(e.Zxid, 1)):
		return reasonFiredUncaused
	case fired.due && fired.name != "" && e.Name != fired.name:
		return reasonWrongType
	}
	return ""
}

// judgeDelivered returns what is wrong with the delivery of an event of watch w, which is -1 if no
// such watch is known. An event "not-watching" may carry the number 0, because the client does not
// know all watches that the server had.
func judgeDelivered(before []Event, watches []watch, w int, e *Event) string {
	switch {
	case w >= 0 && watches[w].notified, w < 0 && e.Watch != 0 &&
		hasWatch(before, WatchEvent, e.Watch):
		return reasonEventTwice
	case e.Name != notWatching && (w < 0 || !watches[w].fired):
		return reasonEventInvented
	case e.Name != notWatching && e.Name != watches[w].name:
		return reasonWrongType
	}
	return ""
}

func hasWatch(events []Event, kind Kind, number int32) bool {
	for i := range events {
		if events[i].Kind == kind && events[i].Watch == number {
			return true
		}
	}
	return false
}

// endWatch marks a watch as gone, or drops it if nobody needs to be told: because the owner was
// told already, or never had the reply that would have told it of the watch.
func endWatch(watches []watch, e *Event, i int) []watch {
	w := findWatch(watches, e.Watch)
	if w < 0 {
		return watches
	}
	if watches[w].notified || watches[w].covered || watches[w].request != 0 &&
		!watches[w].answered {
		return append(watches[:w], watches[w+1:]...)
	}
	watches[w].gone, watches[w].index = true, i
	return watches
}

// markCovered marks the watches of which the server has told nothing, and their owner's client
// library has by the event of another one.
func markCovered(watches []watch, e *Event) {
	if e.Name == notWatching {
		return
	}
	for n := range watches {
		w := &watches[n]
		if w.process == e.Process && w.path == e.Path && concerns(w, e.Name) &&
			(w.request == 0 || w.answered) {
			w.covered = true
		}
	}
}

// reassignCovered takes note of a request that waits for what a watch of the same client stands for
// at the server already: that watch is the request's too, and is armed no second time.
func reassignCovered(watches []watch, e *Event) {
	if !strings.HasSuffix(e.Op, "+watch") || e.Err != "" {
		return
	}
	children := strings.HasPrefix(e.Op, "children")
	for n := range watches {
		if w := &watches[n]; w.covered && !w.fired && w.process == e.Process && w.path == e.Path &&
			(w.kind == "child") == children {
			w.request, w.answered, w.covered = e.Request, false, false
		}
	}
}

// concerns tells whether an event of that type concerns the watch: it ends all watches of a node
// that is gone.
func concerns(w *watch, name string) bool {
	switch name {
	case "created":
		return w.kind == "exist"
	case "changed":
		return w.kind != "child"
	case "children":
		return w.kind == "child"
	}
	return true
}

// deliver settles the watch that the event is of. One that is not gone when its owner is told
// "not-watching" is kept, for the client may know of a lost connection before the server does, and
// until then the server may fire the watch.
func deliver(watches []watch, w int, e *Event) []watch {
	if e.Name != notWatching {
		return append(watches[:w], watches[w+1:]...)
	}
	if w >= 0 {
		watches[w].notified = true
	}
	return withoutGone(watches, e)
}

// withoutGone drops the watches that are gone and whose process and path are those of the event.
func withoutGone(watches []watch, e *Event) []watch {
	kept := watches[:0]
	for n := range watches {
		if w := &watches[n]; !w.gone || w.process != e.Process || w.path != e.Path {
			kept = append(kept, *w)
		}
	}
	return kept
}

// findWatch searches from the end, because a watch that fires was mostly armed not long before.
func findWatch(watches []watch, number int32) int {
	for n := len(watches) - 1; n >= 0; n-- {
		if watches[n].number == number {
			return n
		}
	}
	return -1
}

// findOvertaken returns a watch whose event ought to have come before the reply, or -1. A reply
// that was never sent by a server, such as the error of a lost connection, has no zxid and
// overtakes nothing, nor does one to a request that was served, as the given event, before the
// watch fired.
func findOvertaken(watches []watch, e *Event, served int) int {
	for n := range watches {
		w := &watches[n]
		if w.fired && !w.gone && !w.notified && w.process == e.Process && e.Zxid != 0 &&
			e.Zxid >= w.zxid &&
			served >= w.index {
			return n
		}
	}
	return -1
}

// finish decides at the end of the history what is owed to the owners of watches.
func (m *watchMonitor) finish(*queue, []Event) *Violation {
	for n := range m.watches {
		w := &m.watches[n]
		owner := m.owner(w.process)
		switch {
		case w.notified || owner.crashed:
		case w.gone && owner.hasSession:
			return watchViolation(w.index, reasonGoneSilently, w.number, w.process, w.path)
		case w.fired && !w.gone:
			return watchViolation(w.index, reasonEventLost, w.number, w.process, w.path)
		}
	}
	return nil
}
