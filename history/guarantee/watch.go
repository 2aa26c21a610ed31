package guarantee

import (
	"strings"

	"github.com/interlock-sim/interlock/history"
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
func (m *Watches) checkFired(before []history.Event, w int, e *history.Event) string {
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
