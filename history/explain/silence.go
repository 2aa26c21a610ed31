package explain

import (
	"fmt"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/cause"
)

// silent tells of a watch whose event was never delivered, and of those by which the client set it
// again on later connections.
func (s *story) silent(w *cause.Watch, reply int) {
	p := process(w.Process)
	s.say("It waits for watch %d on %s (event %d).", w.Number, s.node(w.Path), s.cite(reply))
	for {
		lost := "its event has not reached " + p
		if w.Gone >= 0 {
			lost = fmt.Sprintf("the connection was lost (event %d) before %s received the event",
				s.cite(w.Gone), p)
		}
		switch {
		case w.Fired >= 0:
			s.say("Watch %d fired at %s, but %s.", w.Number, s.at(w.Fired), lost)
		case w.Gone >= 0:
			s.say("Watch %d ended with its connection at %s.", w.Number, s.at(w.Gone))
		default:
			s.unfired(w)
		}
		again := s.next(w.Process, w.Armed, func(e *history.Event) bool {
			return e.Kind == history.WatchArmed && e.Request == 0 && e.Path == w.Path
		})
		if again < 0 {
			s.unchanged(w)
			s.lead("%s waits for ever to hear that %s: no event of its watch ever reached it.", p,
				s.awaited(w))
			return
		}
		w = s.Watch(s.Events[again].Watch)
		s.say("On its next connection the client set the watch again, as watch %d (event %d).",
			w.Number, s.cite(again))
	}
}

// unfired says whether the znode of a pending watch has changed since the watch was set, and
// whether it had changed before.
func (s *story) unfired(w *cause.Watch) {
	concerns := func(e *history.Event) bool {
		return (e.Kind == history.NodeCreated || e.Kind == history.NodeDeleted) &&
			(e.Path == w.Path || w.Kind == "child" && history.Directory(e.Path) == w.Path)
	}
	for i := w.Armed; i < len(s.Events); i++ {
		if e := &s.Events[i]; concerns(e) {
			s.say("A change that it was to report came at %s, and no event of it has reached %s.",
				s.at(i), process(w.Process))
			return
		}
	}
	for i := w.Armed; i >= 0; i-- {
		if e := &s.Events[i]; concerns(e) {
			s.say("Watch %d has not fired: the last change that concerns it, %s, is older %s.",
				w.Number, s.node(e.Path)+" "+changed(e.Kind), s.in(i))
			s.overtaken(w, e.Zxid)
			return
		}
	}
	s.say("Nothing has happened to %s since.", s.node(w.Path))
}

// overtaken tells which reply had moved the client past a transaction before it set a watch again.
func (s *story) overtaken(w *cause.Watch, zxid int64) {
	if s.Events[w.Armed].Request != 0 {
		return
	}
	for i := range s.Events[:w.Armed] {
		e := &s.Events[i]
		if r := s.Request(i); e.Kind == history.Reply && e.Process == w.Process && r != nil &&
			e.Zxid >= zxid && r.Op != "connect" && r.Op != "set-watches" {
			s.lead("%s's own %s (event %d) made it miss the event of %s for which it waits for "+
				"ever: its reply shows transaction %d or later, so the servers assume that %s "+
				"knows the change.", process(w.Process), s.asked(r), s.cite(i), s.node(w.Path),
				zxid, process(w.Process))
			return
		}
	}
}

func changed(k history.Kind) string {
	if k == history.NodeCreated {
		return "created"
	}
	return "deleted"
}

// unchanged leads with why a process waits for ever for the event of a watch: a child of the znode
// that its creator has left behind, or the end of the process's own znode during the call.
func (s *story) unchanged(w *cause.Watch) {
	s.held = fmt.Sprintf("%s waits for ever to hear that %s", process(w.Process), s.awaited(w))
	call := s.last(w.Process, w.Armed, of(history.LockCall))
	for i := range w.Armed {
		e := &s.Events[i]
		switch {
		case e.Kind == history.NodeCreated && w.Kind == "child" && e.Session != 0 &&
			history.Directory(e.Path) == w.Path && s.Deleted(e.Path, i) < 0:
			if end := s.attemptEnd(e.Process, i); end >= 0 &&
				s.Events[end].Kind != history.Crashed {
				s.blame(e.Process, e.Path, i, end, s.deletions(e.Process, e.Path, i))
			}
		case e.Kind == history.NodeDeleted && e.Process == w.Process && s.SessionEnd(i) >= 0 &&
			call >= 0 && s.Created(e.Path, i) > call && !s.replaced(i):
			s.lead("%s's %s was deleted %s, but its Lock (event %d) went on without it, and %s.",
				process(w.Process), s.node(e.Path), s.demise(i), s.cite(call), s.held)
		}
	}
}

// replaced reports whether the owner of a deleted znode has created another in its directory since.
func (s *story) replaced(deleted int) bool {
	e := &s.Events[deleted]
	return s.next(e.Process, deleted, func(o *history.Event) bool {
		return o.Kind == history.NodeCreated &&
			history.Directory(o.Path) == history.Directory(e.Path)
	}) >= 0
}
