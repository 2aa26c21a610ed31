package explain

import (
	"fmt"
	"strings"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/cause"
	"github.com/interlock-sim/interlock/history/guarantee"
)

// noLostWatch explains a watch that did not report a change, or reported one wrongly.
func (s *story) noLostWatch() bool {
	v := s.v.Event
	w := s.Watch(s.v.Evidence.Watch)
	p, znode := process(s.v.Evidence.Process), s.node(s.v.Evidence.Path)
	switch {
	case s.v.Reason == guarantee.ReasonNeverArmed:
		s.say("A watch of %s on %s fired (event %d) that %s had never set.", p, znode, s.cite(v), p)
		s.notTheLock()
		return true
	case w == nil && s.v.Reason == guarantee.ReasonEventInvented:
		s.say("%s received an event of a watch on %s (event %d) that it had never set.", p, znode,
			s.cite(v))
		s.notTheLock()
		return true
	case w == nil:
		return false
	}
	tell := map[string]func(*cause.Watch, *watchTale) bool{
		guarantee.ReasonNotFired:      s.unfiredWatch,
		guarantee.ReasonFiredInPart:   s.unfiredWatch,
		guarantee.ReasonEventLost:     s.lostEvent,
		guarantee.ReasonGoneSilently:  s.goneWatch,
		guarantee.ReasonFiredTwice:    s.firedTwice,
		guarantee.ReasonEventTwice:    s.deliveredTwice,
		guarantee.ReasonFiredGone:     s.firedGone,
		guarantee.ReasonFiredUncaused: s.uncaused,
		guarantee.ReasonWrongType:     s.wrongType,
		guarantee.ReasonEventOrder:    s.eventOrder,
		guarantee.ReasonEventInvented: s.inventedEvent,
		guarantee.ReasonReplyFirst:    s.replyFirst,
	}[s.v.Reason]
	t := &watchTale{
		process: process(w.Process), znode: s.node(w.Path),
		watch: fmt.Sprintf("%s's watch %d on %s", process(w.Process), w.Number, s.node(w.Path)),
	}
	if tell == nil || !tell(w, t) {
		return false
	}
	s.relied(w, t)
	s.notTheLock()
	return true
}

// A watchTale holds what sentences about a watch repeat.
type watchTale struct {
	process, znode, watch string
}

// notTheLock ends the explanation of a failure of the ensemble or of the client library.
func (s *story) notTheLock() {
	s.say("ZooKeeper guarantees otherwise: the ensemble or the client library is at fault, not " +
		"the lock.")
}

// unfiredWatch tells of a change that did not fire a watch.
func (s *story) unfiredWatch(w *cause.Watch, t *watchTale) bool {
	change := s.changeFor(w, w.Armed, s.v.Event)
	if change < 0 { // A lagging server applies an earlier change after it has set the watch.
		change = s.changeFor(w, -1, s.v.Event)
	}
	if change < 0 {
		return false
	}
	s.say("%s (event %d), and %s did not fire.", s.happened(change), s.cite(change), t.watch)
	s.setBy(w, t)
	zxid := s.Events[change].Zxid
	for i := change + 1; i < s.v.Event; i++ {
		if e := &s.Events[i]; e.Kind == history.WatchFired && e.Zxid == zxid {
			s.say("The same change fired %s's watch %d (event %d).", process(e.Process), e.Watch,
				s.cite(i))
			break
		}
	}
	s.show(s.v.Event)
	return true
}

// lostEvent tells of a watch that fired, and whose event never arrived.
func (s *story) lostEvent(w *cause.Watch, t *watchTale) bool {
	if w.Fired < 0 {
		return false
	}
	s.say("%s fired (event %d), and its event never reached %s.", t.watch, s.cite(w.Fired),
		t.process)
	s.firedFor(w.Fired)
	s.setBy(w, t)
	return true
}

// goneWatch tells of a watch that ended with its connection, unknown to its owner.
func (s *story) goneWatch(w *cause.Watch, t *watchTale) bool {
	if w.Gone < 0 {
		return false
	}
	s.say("%s ended with its connection (event %d), and %s was never told.", t.watch,
		s.cite(w.Gone), t.process)
	s.setBy(w, t)
	if back := s.next(w.Process, w.Gone, func(e *history.Event) bool {
		return e.Kind == history.SessionState && e.Name == "has-session"
	}); back >= 0 {
		s.say("Its client has the session again (event %d), and has not set the watch again.",
			s.cite(back))
	}
	if change := s.changeFor(w, w.Armed, len(s.Events)); change >= 0 {
		s.say("%s does not hear that %s (event %d).", t.process, s.happened(change),
			s.cite(change))
	}
	return true
}

// firedTwice tells of a watch that fired again.
func (s *story) firedTwice(w *cause.Watch, t *watchTale) bool {
	first := s.firing(w, s.v.Event)
	if first < 0 {
		return false
	}
	s.say("%s fired twice, at events %d and %d. A watch fires once.", t.watch, s.cite(first),
		s.cite(s.v.Event))
	s.setBy(w, t)
	s.firedFor(first)
	s.say("%s may take the second event for news of the watch that it has set since.", t.process)
	return true
}

// deliveredTwice tells of an event that arrived twice.
func (s *story) deliveredTwice(w *cause.Watch, t *watchTale) bool {
	first := s.last(w.Process, s.v.Event, func(e *history.Event) bool {
		return e.Kind == history.WatchEvent && e.Watch == w.Number
	})
	if first < 0 {
		return false
	}
	s.say("%s received the event of its watch %d on %s twice, at events %d and %d.", t.process,
		w.Number, t.znode, s.cite(first), s.cite(s.v.Event))
	s.setBy(w, t)
	return true
}

// firedGone tells of a watch that fired after its end.
func (s *story) firedGone(w *cause.Watch, t *watchTale) bool {
	if w.Gone < 0 {
		return false
	}
	s.say("%s fired (event %d) although it had ended with its connection (event %d).", t.watch,
		s.cite(s.v.Event), s.cite(w.Gone))
	s.setBy(w, t)
	return true
}

// uncaused tells of a watch that fired for no change.
func (s *story) uncaused(w *cause.Watch, t *watchTale) bool {
	s.say("%s fired (event %d) as if %s had been %s, and no change of %s that such a watch "+
		"reports had happened.", t.watch, s.cite(s.v.Event), t.znode,
		strings.ReplaceAll(s.Events[s.v.Event].Name, "-", " "), t.znode)
	for i := s.v.Event + 1; i < len(s.Events); i++ {
		if reports(w, &s.Events[i]) {
			s.say("Only later it happened that %s (event %d).", s.happened(i), s.cite(i))
			break
		}
	}
	s.setBy(w, t)
	return true
}

// wrongType tells of a watch that reported another kind of change than the one that happened.
func (s *story) wrongType(w *cause.Watch, t *watchTale) bool {
	s.say("%s reported %q (event %d).", t.watch, s.Events[s.v.Event].Name, s.cite(s.v.Event))
	if change := s.changeFor(w, -1, s.v.Event); change >= 0 {
		s.say("What had happened is that %s (event %d).", s.happened(change), s.cite(change))
	}
	s.setBy(w, t)
	return true
}

// eventOrder tells of an event that came after that of a later change.
func (s *story) eventOrder(w *cause.Watch, t *watchTale) bool {
	e := &s.Events[s.v.Event]
	later := s.last(w.Process, s.v.Event, func(o *history.Event) bool {
		return o.Kind == history.WatchEvent && o.Zxid > e.Zxid
	})
	if later < 0 {
		return false
	}
	o := &s.Events[later]
	s.say("%s heard of the changes in the wrong order: of transaction %s by watch %d on %s (event "+
		"%d), and only then of transaction %s by watch %d on %s (event %d).", t.process,
		history.FormatZxid(o.Zxid), o.Watch, s.node(o.Path), s.cite(later),
		history.FormatZxid(e.Zxid), w.Number, t.znode, s.cite(s.v.Event))
	s.setBy(w, t)
	return true
}

// inventedEvent tells of an event whose watch had not fired.
func (s *story) inventedEvent(w *cause.Watch, t *watchTale) bool {
	s.say("%s received an event of its watch %d on %s (event %d), which had not fired.", t.process,
		w.Number, t.znode, s.cite(s.v.Event))
	s.setBy(w, t)
	return true
}

// replyFirst tells of a reply that shows a change before the watch on it has reported it.
func (s *story) replyFirst(w *cause.Watch, t *watchTale) bool {
	fired := s.firing(w, s.v.Event)
	if fired < 0 {
		return false
	}
	e := &s.Events[s.v.Event]
	what := "a reply"
	if r := s.Request(s.v.Event); r != nil {
		what = "the reply to " + s.asked(r)
	}
	s.say("%s received %s (event %d), which shows transaction %s, before the event of its watch "+
		"%d on %s, which fired for transaction %s (event %d).", t.process, what,
		s.cite(s.v.Event), history.FormatZxid(e.Zxid), w.Number, t.znode,
		history.FormatZxid(s.Events[fired].Zxid), s.cite(fired))
	s.firedFor(fired)
	s.setBy(w, t)
	s.say("A client that reads relies on having heard of all older changes that it watches for.")
	return true
}

// firing returns the last firing of a watch before an event, or -1.
func (s *story) firing(w *cause.Watch, before int) int {
	return s.last(w.Process, before, func(e *history.Event) bool {
		return e.Kind == history.WatchFired && e.Watch == w.Number
	})
}

// changeFor returns the last change between two events that a watch reports, or -1.
func (s *story) changeFor(w *cause.Watch, after, before int) int {
	for i := before - 1; i > after; i-- {
		if reports(w, &s.Events[i]) {
			return i
		}
	}
	return -1
}

// reports reports whether an event is a change that a watch reports.
func reports(w *cause.Watch, e *history.Event) bool {
	created, deleted := e.Kind == history.NodeCreated, e.Kind == history.NodeDeleted
	switch w.Kind {
	case "exist":
		return created && e.Path == w.Path
	case "child":
		return deleted && e.Path == w.Path ||
			(created || deleted) && history.Directory(e.Path) == w.Path
	}
	return (deleted || e.Kind == history.NodeChanged) && e.Path == w.Path
}

// firedFor tells for which change a watch has fired.
func (s *story) firedFor(fired int) {
	for i := fired; i >= 0; i-- {
		switch e := &s.Events[i]; e.Kind {
		case history.NodeCreated, history.NodeDeleted, history.NodeChanged:
			if e.Zxid == s.Events[fired].Zxid {
				s.say("It fired because %s (event %d).", s.happened(i), s.cite(i))
				return
			}
		}
	}
}

// happened tells a change of a znode, as "c1#0 was deleted by c1".
func (s *story) happened(change int) string {
	e := &s.Events[change]
	how := fmt.Sprintf("by %s", process(e.Process))
	switch end := s.SessionEnd(change); {
	case end >= 0 && s.Events[end].Kind == history.SessionClosed:
		how = fmt.Sprintf("when %s's session closed", process(e.Process))
	case end >= 0:
		how = fmt.Sprintf("when %s's session expired", process(e.Process))
	}
	verb := "changed"
	if e.Kind != history.NodeChanged {
		verb = changed(e.Kind)
	}
	return fmt.Sprintf("%s was %s %s", s.node(e.Path), verb, how)
}

// setBy tells which request set a watch.
func (s *story) setBy(w *cause.Watch, t *watchTale) {
	r := s.Request(w.Armed)
	switch {
	case r == nil || s.Events[w.Armed].Request == 0:
		s.say("The client had set watch %d itself, on a new connection (event %d).", w.Number,
			s.cite(w.Armed))
	case r.Reply >= 0 && r.Reply < s.v.Event:
		s.say("%s had set watch %d by %s (reply at event %d), to hear when %s.", t.process,
			w.Number, s.asked(r), s.cite(r.Reply), s.awaited(w))
	default:
		s.say("%s's %s had set watch %d (event %d), to hear when %s.", t.process, s.asked(r),
			w.Number, s.cite(w.Armed), s.awaited(w))
	}
}

// awaited tells what a watch is to report.
func (s *story) awaited(w *cause.Watch) string {
	znode := s.node(w.Path)
	if created := s.Created(w.Path, w.Armed); created >= 0 &&
		s.Events[created].Process == w.Process && w.Kind == "data" {
		znode = "its own " + znode
	}
	switch w.Kind {
	case "exist":
		return znode + " is created"
	case "child":
		return "the children of " + znode + " change"
	}
	return znode + " is changed or deleted"
}

// relied tells what the owner of a watch does without its event: it waits.
func (s *story) relied(w *cause.Watch, t *watchTale) {
	call := s.last(w.Process, len(s.Events), of(history.LockCall, history.LockReturn))
	if call < 0 || s.Events[call].Kind != history.LockCall || call > s.v.Event {
		return
	}
	if pending := s.pendingWatch(w.Process); pending == nil || pending.Path != w.Path {
		return
	}
	s.say("%s relies on watch %d to wake it: its Lock, called at event %d, was still waiting "+
		"when the history ended.", t.process, w.Number, s.cite(call))
}
