package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/history"
)

// The reasons of violations of [history.NoLostWatch].
const (
	ReasonNeverArmed    = "a watch fired that was never armed"
	ReasonFiredTwice    = "a watch fired twice"
	ReasonFiredGone     = "a watch fired after it was gone"
	ReasonFiredUncaused = "a watch fired without a change to its node"
	ReasonNotFired      = "a change to a node did not fire a watch on it"
	ReasonFiredInPart   = "a change fired some of the watches on it and not others"
	ReasonWrongType     = "an event of a watch has another type than the change that fired it"
	ReasonEventOrder    = "an event was delivered after one of a later change"
	ReasonEventInvented = "an event was delivered of a watch that had not fired"
	ReasonEventTwice    = "an event was delivered twice"
	ReasonReplyFirst    = "a reply overtook the event of an older change"
	ReasonEventLost     = "a watch fired and its event was never delivered"
	ReasonGoneSilently  = "a watch was gone and its owner was not told"
)

// notWatching is the name of the WatchEvent by which a client library reports that a watch is gone.
const notWatching = "not-watching"

// A watch is a watch that is not settled: its event has not been delivered, or it is gone and its
// owner has not been notified.
type watch struct {
	path    string
	kind    string // data, exist or child
	zxid    int64  // of the change that fired it
	number  int32
	process int32
	request int32 // the last request for it
	server  int32 // the server that holds it, of several
	// the zxid of a change that must fire it when its server applies the change, or 0
	pendingZxid int64
	index       int    // the index of the last event that armed it, fired it or ended it
	name        string // the type that its event must have, or empty if unknown
	due         bool   // a change has triggered it, and it must fire next
	fired       bool
	gone        bool
	notified    bool // its owner was notified that it is gone
	covered     bool // the client library has reported the change by the event of another watch
	answered    bool // the last request for it has a reply
}

// NoLostWatch decides [history.NoLostWatch]: every change fires the watches on it exactly once, and
// their owners receive the events in order, before any reply that shows the change.
//
// The events of the property are those of watches, and the changes and replies that concern them:
//   - A watch fires only if it was armed, once, and not after it is gone. It fires because of a
//     change: a "data" watch for a change of the node's data or its deletion, an "exist" watch for
//     its creation, a "child" watch for its deletion or the creation or deletion of a direct child.
//     The change may precede the arming if its zxid is at most that of the firing, since a client
//     that reconnects catches up.
//   - A change fires every armed watch that it concerns before any other event: at the leader when
//     it commits, at the other servers when they apply it. A change that a lagging server has not
//     applied when a watch is armed there counts as a change after the arming.
//   - A WatchEvent is delivered only for a watch that has fired, and at most once. An event
//     "not-watching" reports that the watch is gone, and requires no firing.
//   - A WatchEvent has the type of the change that fired its watch, and the events of a connection
//     are delivered in the order of the changes.
//   - Between the firing of a watch and the delivery of its event, no reply reaches the owner that
//     was served after the firing and has at least the zxid of the change. A client that reconnects
//     may read before it sets its watches again.
//   - At the end of the history the event of every fired watch has been delivered, unless the watch
//     is gone or its owner has crashed.
//   - At the end of the history the owner of a gone watch, fired or not, has since received
//     "not-watching" for its path, or armed a watch on the path, or received the event after all.
//
// The property does not cover, at the end of the history, a gone watch
//   - whose owner has crashed or has a session state other than "has-session", and so knows that
//     its watches are void;
//   - whose owner received no reply to the request for it;
//   - whose change the client library reported by the event of another watch before, unless the
//     owner requests a watch on that path again.
//
// The Guarantee of a violation is the one of etcd's nine watch guarantees that it breaks.
//
// The check takes time linear in the events, times the number of watches that are not settled. A
// watch that fires without a change right before it, and a violation, cost another pass. The check
// allocates only if more than a few watches are not settled at once.
func NoLostWatch(events []history.Event) *history.Violation {
	return decide(history.NoLostWatch, new(watchMonitor), events)
}

type watchMonitor struct {
	watches        []watch // not settled
	due            int     // the number of watches that must fire next
	changed        int64   // the transaction that has triggered them
	delivered      []lastDelivered
	pendingReplies []pendingReply
	changes        []pathChanges
	owners         []watchOwner
}

// A pendingReply is a request that a server has served and whose reply has not arrived.
type pendingReply struct{ process, request, index int32 }

// A pathChanges holds the zxids of the first changes of a znode of each type that fires watches, or
// 0.
type pathChanges struct {
	path                             string
	created, data, deleted, children int64
}

// A watchOwner is the state of a process that has watches.
type watchOwner struct {
	process    int32
	crashed    bool
	hasSession bool // by the last report of its client library
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

// state does not fold in which changes a lagging server has not applied, because the state of the
// ensemble holds them.
func (m *watchMonitor) state(_ *queue, s *State) {
	sum := uint64(0)
	for i := range m.watches {
		w := &m.watches[i]
		flags := bit(w.due, 0) | bit(w.fired, 1) | bit(w.gone, 2) | bit(w.notified,
			3) | bit(w.covered,
			4) | bit(w.answered, 5) |
			bit(w.request == 0, 6) | bit(w.pendingZxid != 0, 7)
		h := fold(fold(s.text(w.path),
			uint64(uint32(w.process))<<32|uint64(uint32(w.server))<<8|flags),
			s.text(w.kind))
		h = fold(h, s.text(w.name))
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

// freedom: events between processes and their locks do not matter, and no process changes the order
// of what it is told.
func (m *watchMonitor) freedom(*queue, *history.Event) freedom { return anywhere }

// ofConnection returns the event. On a connection other than the process's first, it is a copy in
// which the number of that connection, formed as that of a thread, replaces the process.
func ofConnection(e *history.Event) *history.Event {
	if e == nil || e.Connection == 0 {
		return e
	}
	own := *e
	own.Process = history.ThreadNumber(e.Process, int(e.Connection))
	return &own
}

func (m *watchMonitor) observe(_ *queue, log []history.Event, i int) *history.Violation {
	e := ofConnection(ofClient(&log[i]))
	if e == nil {
		return nil
	}
	if m.due > 0 && e.Kind != history.WatchFired {
		return notFired(m.watches, i, m.changed)
	}
	switch e.Kind {
	case history.NodeCreated, history.NodeDeleted, history.NodeChanged:
		m.change(e)
		m.due, m.changed = trigger(m.watches, e), e.Zxid
	case history.Applied:
		m.due, m.changed = triggerApplied(m.watches, e), e.Zxid
	case history.WatchArmed:
		m.watches = withoutGone(m.watches, e)
		w := watch{
			path: e.Path, kind: e.Name, number: e.Watch,
			process: e.Process, request: e.Request, server: e.Server, index: i,
		}
		w.pendingZxid = firstUnapplied(log[:i], &w, e)
		m.watches = append(m.watches, w)
	case history.Serve:
		reassignCovered(m.watches, e)
		m.pendingReplies = append(m.pendingReplies, pendingReply{e.Process, e.Request, int32(i)})
	case history.WatchFired:
		return m.fire(log, i)
	case history.WatchGone:
		m.watches = endWatch(m.watches, e, i)
	case history.WatchEvent:
		return m.deliver(log, i)
	case history.SessionState:
		m.delivered = forgetDelivered(m.delivered, e.Process)
		m.owner(e.Process).hasSession = e.Name == "has-session"
	case history.Crashed:
		m.owner(e.Process).crashed = true
	case history.Reply:
		return m.reply(e, i)
	}
	return nil
}

// isLate reports whether the event of a fired watch will be delivered after one of a later change.
// Events of future changes cannot be late.
func (m *watchMonitor) isLate(w *watch) bool {
	return slices.ContainsFunc(m.delivered, func(t lastDelivered) bool {
		return t.process == w.process && w.zxid < t.zxid
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

// change records a change of a znode. A creation or a deletion changes the children of its parent
// too.
func (m *watchMonitor) change(e *history.Event) {
	c := m.changesOf(e.Path)
	switch e.Kind {
	case history.NodeCreated:
		setFirst(&c.created, e.Zxid)
	case history.NodeDeleted:
		setFirst(&c.deleted, e.Zxid)
	case history.NodeChanged:
		setFirst(&c.data, e.Zxid)
		return
	}
	setFirst(&m.changesOf(history.Directory(e.Path)).children, e.Zxid)
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

// firstCause returns the transaction of the first change that could have fired the watch, or 0.
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

// fire records event i, by which a watch fires.
func (m *watchMonitor) fire(log []history.Event, i int) *history.Violation {
	e := ofConnection(&log[i])
	w := findWatch(m.watches, e.Watch)
	if reason := m.checkFired(log[:i], w, e); reason != "" {
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

// deliver records event i, by which a watch event reaches its process.
func (m *watchMonitor) deliver(log []history.Event, i int) *history.Violation {
	e := ofConnection(&log[i])
	w := findWatch(m.watches, e.Watch)
	if reason := checkDelivered(log[:i], m.watches, w, e); reason != "" {
		return watchViolation(i, reason, e.Watch, e.Process, e.Path)
	}
	markCovered(m.watches, e)
	m.watches = deliver(m.watches, w, e)
	var late bool
	if m.delivered, late = deliverInOrder(m.delivered, e); late {
		return watchViolation(i, ReasonEventOrder, e.Watch, e.Process, e.Path)
	}
	return nil
}

// reply records event i, by which a reply reaches its process.
func (m *watchMonitor) reply(e *history.Event, i int) *history.Violation {
	served := slices.IndexFunc(m.pendingReplies, func(r pendingReply) bool {
		return r.process == e.Process &&
			r.request == e.Request
	})
	since := i
	if served >= 0 {
		since = int(m.pendingReplies[served].index)
	}
	if w := findOvertaken(m.watches, e, since); w >= 0 {
		return watchViolation(i, ReasonReplyFirst, m.watches[w].number, e.Process,
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

func watchViolation(i int, reason string, number, process int32, path string) *history.Violation {
	process, _ = history.ProcessOf(process)
	return &history.Violation{
		Property: history.NoLostWatch, Event: i, Reason: reason, Guarantee: guaranteeOf[reason],
		Detail:   fmt.Sprintf("watch %d of c%d on %s", number, process, path),
		Evidence: history.Evidence{Process: process, Watch: number, Path: path},
	}
}

// A lastDelivered is the last change that a connection has reported to its process.
type lastDelivered struct {
	process int32
	zxid    int64
}

// deliverInOrder records the delivery of an event, and reports whether it comes after the event of
// a later change.
func deliverInOrder(delivered []lastDelivered, e *history.Event) ([]lastDelivered, bool) {
	if e.Zxid == 0 {
		return delivered, false // The client library itself reports that a watch is gone.
	}
	for n := range delivered {
		if delivered[n].process == e.Process {
			late := e.Zxid < delivered[n].zxid
			delivered[n].zxid = e.Zxid
			return delivered, late
		}
	}
	return append(delivered, lastDelivered{e.Process, e.Zxid}), false
}

// forgetDelivered drops the record of a connection that has changed, because another server may
// lag.
func forgetDelivered(delivered []lastDelivered, process int32) []lastDelivered {
	for n := range delivered {
		if delivered[n].process == process {
			return append(delivered[:n], delivered[n+1:]...)
		}
	}
	return delivered
}

// trigger marks the watches that the change must fire, and returns their number.
func trigger(watches []watch, e *history.Event) int {
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
// returns their number.
func triggerApplied(watches []watch, e *history.Event) int {
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

// typeOf returns the type of the event by which a watch reports a change.
func typeOf(e *history.Event, w *watch) string {
	switch {
	case w.kind == "child" && e.Path != w.path:
		return "children"
	case e.Kind == history.NodeCreated:
		return "created"
	case e.Kind == history.NodeDeleted:
		return "deleted"
	}
	return "changed"
}

// firstUnapplied returns the zxid of the first committed change that concerns the watch and that
// its server had not applied when the watch was armed, or 0.
func firstUnapplied(before []history.Event, w *watch, armed *history.Event) int64 {
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
func triggers(e *history.Event, w *watch) bool {
	switch w.kind {
	case "data":
		return (e.Kind == history.NodeDeleted || e.Kind == history.NodeChanged) && e.Path == w.path
	case "exist":
		return e.Kind == history.NodeCreated && e.Path == w.path
	case "child":
		return e.Kind == history.NodeDeleted && e.Path == w.path ||
			(e.Kind == history.NodeCreated || e.Kind == history.NodeDeleted) && e.Path != w.path &&
				history.Directory(e.Path) == w.path
	}
	return false
}

func notFired(watches []watch, i int, zxid int64) *history.Violation {
	n, reason := 0, ReasonNotFired
	for !watches[n].due {
		n++
	}
	for m := range watches {
		if watches[m].fired && watches[m].zxid == zxid {
			reason = ReasonFiredInPart
		}
	}
	return watchViolation(i, reason, watches[n].number, watches[n].process, watches[n].path)
}

// checkFired returns the reason why the firing of watch w is wrong, or "". If the watch is not
// among the unsettled ones, w is -1, and the events before supply the reason.
func (m *watchMonitor) checkFired(before []history.Event, w int, e *history.Event) string {
	switch {
	case w < 0 && hasWatch(before, history.WatchGone, e.Watch), w >= 0 && m.watches[w].gone:
		return ReasonFiredGone
	case w < 0 && hasWatch(before, history.WatchFired, e.Watch), w >= 0 && m.watches[w].fired:
		return ReasonFiredTwice
	case w < 0:
		return ReasonNeverArmed
	}
	fired := &m.watches[w]
	switch cause := m.firstCause(fired); {
	case !fired.due && (cause == 0 || cause > max(e.Zxid, 1)):
		return ReasonFiredUncaused
	case fired.due && fired.name != "" && e.Name != fired.name:
		return ReasonWrongType
	}
	return ""
}

// checkDelivered returns the reason why the delivery of an event of watch w is wrong, or "". If the
// watch is not among the unsettled ones, w is -1. An event "not-watching" may have the number 0,
// because the client does not know all watches of the server.
func checkDelivered(before []history.Event, watches []watch, w int, e *history.Event) string {
	switch {
	case w >= 0 && watches[w].notified, w < 0 && e.Watch != 0 &&
		hasWatch(before, history.WatchEvent, e.Watch):
		return ReasonEventTwice
	case e.Name != notWatching && (w < 0 || !watches[w].fired):
		return ReasonEventInvented
	case e.Name != notWatching && e.Name != watches[w].name:
		return ReasonWrongType
	}
	return ""
}

func hasWatch(events []history.Event, kind history.Kind, number int32) bool {
	for i := range events {
		if events[i].Kind == kind && events[i].Watch == number {
			return true
		}
	}
	return false
}

// endWatch marks a watch as gone. It drops the watch if the owner need not be notified: it was
// notified already, or received no reply to the request for the watch.
func endWatch(watches []watch, e *history.Event, i int) []watch {
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

// markCovered marks the watches whose change the client library has reported by the event of
// another watch.
func markCovered(watches []watch, e *history.Event) {
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

// reassignCovered records a request for a watch that the server holds already for the same client:
// the watch becomes that of the request, and is not armed again.
func reassignCovered(watches []watch, e *history.Event) {
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

// concerns reports whether an event of that type concerns the watch. The deletion of a node ends
// all its watches.
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

// deliver settles the watch of the event. If the watch is not gone when its owner receives
// "not-watching", it is kept: the client may detect a lost connection before the server does, and
// until then the server may fire the watch.
func deliver(watches []watch, w int, e *history.Event) []watch {
	if e.Name != notWatching {
		return append(watches[:w], watches[w+1:]...)
	}
	if w >= 0 {
		watches[w].notified = true
	}
	return withoutGone(watches, e)
}

// withoutGone drops the gone watches with the process and the path of the event.
func withoutGone(watches []watch, e *history.Event) []watch {
	kept := watches[:0]
	for n := range watches {
		if w := &watches[n]; !w.gone || w.process != e.Process || w.path != e.Path {
			kept = append(kept, *w)
		}
	}
	return kept
}

// findWatch searches backwards, because most watches that fire were armed recently.
func findWatch(watches []watch, number int32) int {
	for n := len(watches) - 1; n >= 0; n-- {
		if watches[n].number == number {
			return n
		}
	}
	return -1
}

// findOvertaken returns a watch whose event should have been delivered before the reply, or -1. A
// reply that the client library made, such as the error of a lost connection, has no zxid and
// overtakes nothing. Neither does a reply that was served, by the given event, before the watch
// fired.
func findOvertaken(watches []watch, e *history.Event, served int) int {
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

// finish checks that the owners of watches have received what the property requires by the end.
func (m *watchMonitor) finish(*queue, []history.Event) *history.Violation {
	for n := range m.watches {
		w := &m.watches[n]
		process, _ := history.ProcessOf(w.process)
		crashed, owner := m.owner(process).crashed, m.owner(w.process)
		switch {
		case w.notified || crashed:
		case w.gone && owner.hasSession:
			return watchViolation(w.index, ReasonGoneSilently, w.number, w.process, w.path)
		case w.fired && !w.gone:
			return watchViolation(w.index, ReasonEventLost, w.number, w.process, w.path)
		}
	}
	return nil
}
