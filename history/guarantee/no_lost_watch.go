package guarantee

import (
	"fmt"
	"slices"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/hash64"
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
	var w Watches
	for i := range events {
		if v := w.Observe(events, i); v != nil {
			return v
		}
	}
	return w.Finish()
}

// A Watches decides [history.NoLostWatch] event by event. The zero value is that of an empty
// history. It is not safe for concurrent use.
type Watches struct {
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

// Reset makes the value that of an empty history.
func (m *Watches) Reset() {
	*m = Watches{
		watches: m.watches[:0], delivered: m.delivered[:0], pendingReplies: m.pendingReplies[:0],
		changes: m.changes[:0], owners: m.owners[:0],
	}
}

// Copy makes the value a copy of another, in its own memory.
func (m *Watches) Copy(other *Watches) {
	m.watches, m.due, m.changed = append(m.watches[:0], other.watches...), other.due, other.changed
	m.delivered, m.pendingReplies = append(m.delivered[:0], other.delivered...),
		append(m.pendingReplies[:0], other.pendingReplies...)
	m.changes, m.owners = append(m.changes[:0], other.changes...),
		append(m.owners[:0], other.owners...)
}

// State folds into a hash all that decides how later events can break the property. The function
// returns a hash of a string. State does not fold in which changes a lagging server has not
// applied, because the state of the ensemble holds them.
func (m *Watches) State(key uint64, text func(string) uint64) uint64 {
	sum := uint64(0)
	for i := range m.watches {
		w := &m.watches[i]
		flags := hash64.Bit(w.due) | hash64.Bit(w.fired)<<1 | hash64.Bit(w.gone)<<2 |
			hash64.Bit(w.notified)<<3 | hash64.Bit(w.covered)<<4 | hash64.Bit(w.answered)<<5 |
			hash64.Bit(w.request == 0)<<6 | hash64.Bit(w.pendingZxid != 0)<<7
		h := hash64.Fold(text(w.path),
			uint64(uint32(w.process))<<32|uint64(uint32(w.server))<<8|flags)
		h = hash64.Fold(hash64.Fold(h, text(w.kind)), text(w.name))
		if w.fired {
			h = hash64.Fold(h, uint64(w.zxid)<<1|hash64.Bit(m.isLate(w)))
			for _, r := range m.pendingReplies {
				if r.process == w.process && int(r.index) < w.index {
					h = hash64.Fold(h, 1)
				}
			}
		} else {
			h = hash64.Fold(h, hash64.Bit(m.firstCause(w) != 0))
		}
		sum += h
	}
	owners := uint64(0)
	for _, o := range m.owners {
		owners += hash64.Fold(uint64(o.process), hash64.Bit(o.crashed)|hash64.Bit(o.hasSession)<<1)
	}
	key = hash64.Fold(hash64.Fold(key, sum), owners)
	return hash64.Fold(hash64.Fold(key, uint64(m.due)), 0)
}

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

// watchKinds holds the kinds of events that change a [Watches]. Any other breaks the property if a
// watch must fire next.
const watchKinds = 1<<history.NodeCreated | 1<<history.NodeDeleted | 1<<history.NodeChanged |
	1<<history.Applied | 1<<history.WatchArmed | 1<<history.WatchFired | 1<<history.WatchGone |
	1<<history.WatchEvent | 1<<history.Serve | 1<<history.Reply | 1<<history.SessionState |
	1<<history.Crashed

// Observe processes event i of the log, after all before it, and returns how it breaks the
// property, or nil.
func (m *Watches) Observe(log []history.Event, i int) *history.Violation {
	if uint64(watchKinds)>>log[i].Kind&1 == 0 && m.due == 0 {
		return nil
	}
	return m.observe(log, i)
}

func (m *Watches) observe(log []history.Event, i int) *history.Violation {
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
func (m *Watches) isLate(w *watch) bool {
	return slices.ContainsFunc(m.delivered, func(t lastDelivered) bool {
		return t.process == w.process && w.zxid < t.zxid
	})
}

func (m *Watches) owner(process int32) *watchOwner {
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
func (m *Watches) change(e *history.Event) {
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

func (m *Watches) changesOf(path string) *pathChanges {
	for c := range m.changes {
		if m.changes[c].path == path {
			return &m.changes[c]
		}
	}
	m.changes = append(m.changes, pathChanges{path: path})
	return &m.changes[len(m.changes)-1]
}

// firstCause returns the transaction of the first change that could have fired the watch, or 0.
func (m *Watches) firstCause(w *watch) (zxid int64) {
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
func (m *Watches) fire(log []history.Event, i int) *history.Violation {
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
func (m *Watches) deliver(log []history.Event, i int) *history.Violation {
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
func (m *Watches) reply(e *history.Event, i int) *history.Violation {
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

// Finish checks that the owners of watches have received what the property requires by the end of
// the history.
func (m *Watches) Finish() *history.Violation {
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
