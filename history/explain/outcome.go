package explain

import (
	"fmt"
	"strings"

	"github.com/interlock-sim/interlock/history"
)

// The properties of package engine, which this package does not import.
const (
	noPanic         history.Property = "no-panic"
	noGoroutineLeak history.Property = "no-goroutine-leak"
)

// noLeakedNodes explains a znode that nobody deletes.
func (s *story) noLeakedNodes() bool {
	created, known := s.earlier()
	owner, path := s.v.Evidence.Process, s.v.Evidence.Path
	if !known || s.Events[created].Path != path {
		return false
	}
	if s.presumed(owner, path, created) {
		s.remains(path, created)
		return true
	}
	if returned := s.lastReturn(owner, created); returned >= 0 {
		s.lead("%s created %s (event %d) after its call had returned (event %d), and never "+
			"deleted it.", process(owner), s.node(path), s.cite(created), s.cite(returned))
	}
	s.abandoned(owner, path, created)
	s.remains(path, created)
	if earlier := s.earlierSession(owner, created); earlier >= 0 {
		s.say("%s had been told that a session expired (event %d), but %s belongs to a later one, "+
			"%#x.", process(owner), s.cite(earlier), s.node(path), s.Events[created].Session)
	}
	return true
}

// remains tells that a znode still exists at the end, and its type.
func (s *story) remains(path string, created int) {
	e, kind, owner := &s.Events[created], "a persistent", ""
	if e.Session != 0 {
		kind, owner = "an ephemeral", fmt.Sprintf(" of %s's open session", process(e.Process))
	}
	if number(path) != "" {
		kind += ", sequential"
	}
	if s.first == "" {
		owner += ", created at " + s.at(created)
	}
	s.say("%s, %s node%s, still exists at the end, and delays every contender behind it.",
		s.node(path), kind, owner)
}

// lastReturn returns the last return of Lock or Unlock of a process before an event, if the process
// has called neither since and does not hold the lock, or -1.
func (s *story) lastReturn(p int32, before int) int {
	i := s.last(p, before, func(e *history.Event) bool {
		return e.Kind == history.LockCall || e.Kind == history.LockReturn ||
			e.Kind == history.UnlockCall || e.Kind == history.UnlockReturn
	})
	if i < 0 || granted(&s.Events[i]) || s.Events[i].Kind == history.LockCall ||
		s.Events[i].Kind == history.UnlockCall {
		return -1
	}
	return i
}

// presumed leads with a Lock that failed and never deleted its znode, as if the end of an earlier
// session had deleted it, and reports whether that is so.
func (s *story) presumed(owner int32, path string, created int) bool {
	earlier, end := s.earlierSession(owner, created), s.attemptEnd(owner, created)
	call := s.last(owner, created, of(history.LockCall))
	if earlier < 0 || end < 0 || call < 0 || s.Events[end].Kind != history.LockReturn ||
		s.gotError(owner, created, end) || len(s.deletions(owner, path, created)) > 0 {
		return false
	}
	q, znode := process(owner), s.node(path)
	s.lead("%s's Lock failed (event %d) and %s never deleted %s (event %d): %s had been told that "+
		"a session expired (event %d), but that was its previous session; %s's is open.", q,
		s.cite(end), q, znode, s.cite(created), q, s.cite(earlier), znode)
	failed := s.last(owner, end, func(e *history.Event) bool {
		return e.Kind == history.Reply && e.Err != ""
	})
	if failed > call {
		s.say("Lock returned %q. In this attempt, called at %s, %s %s.", s.Events[end].Err,
			s.at(call), q, s.input(failed))
	} else {
		s.say("Lock returned %q, although no request of this attempt, called at %s, had got an "+
			"error.", s.Events[end].Err, s.at(call))
	}
	return true
}

// gotError reports whether a reply or a watch event with an error reached a process between two
// events.
func (s *story) gotError(process int32, after, before int) bool {
	i := s.last(process, before, func(e *history.Event) bool {
		return e.Err != "" && (e.Kind == history.Reply || e.Kind == history.WatchEvent)
	})
	return i > after
}

// earlierSession returns the last report of the end of a session to a process before the violation,
// if it was another session than that of a znode, or -1.
func (s *story) earlierSession(owner int32, created int) int {
	told := s.lastState(owner, s.v.Event, "expired")
	if told < 0 {
		return -1
	}
	end := s.last(owner, told, of(history.SessionExpired))
	if end >= 0 && s.Events[end].Session != s.Events[created].Session {
		return told
	}
	return -1
}

// lastState returns the last event before another by which the client library of a process reports
// a state of the session, or -1.
func (s *story) lastState(p int32, before int, name string) int {
	return s.last(p, before, func(e *history.Event) bool {
		return e.Kind == history.SessionState && e.Name == name
	})
}

// noSpuriousFailure explains a Lock that failed.
func (s *story) noSpuriousFailure() bool {
	e := &s.Events[s.v.Event]
	call := s.last(e.Process, s.v.Event, of(history.LockCall))
	if e.Kind != history.LockReturn || call < 0 {
		return false
	}
	if e.FailsToOpen() {
		s.openFailed(s.v.Event)
		return true
	}
	p := process(e.Process)
	failed := s.last(e.Process, s.v.Event, func(o *history.Event) bool {
		return o.Kind == history.Reply && o.Err == e.Err
	})
	if failed >= 0 && s.Request(failed) == nil {
		failed = -1
	}
	if failed > call && !s.gotError(e.Process, call, failed) {
		s.lead("%s's Lock failed (event %d) because of one failed request, %s (event %d), "+
			"instead of trying again.", p, s.cite(s.v.Event), s.asked(s.Request(failed)),
			s.cite(failed))
		s.say("%s had called Lock at %s; its error, %q, is the error of that request.", p,
			s.at(call), e.Err)
	} else {
		if sent := s.next(e.Process, call, of(history.Send)); sent < 0 || sent > s.v.Event {
			s.lead("%s's Lock failed (event %d) without a request to the servers: the lock "+
				"refused by what it remembered.", p, s.cite(s.v.Event))
			if earlier := s.lastReturn(e.Process, call); earlier >= 0 &&
				s.Events[earlier].Err != "" {
				s.say("Its call before had returned %q %s.", s.Events[earlier].Err, s.in(earlier))
			}
		}
		s.say("%s called Lock at %s, and got the error %q at %s.", p, s.at(call), e.Err,
			s.at(s.v.Event))
		if failed > call {
			s.say("%s had failed with the same error (event %d).",
				upper(s.asked(s.Request(failed))), s.cite(failed))
		}
	}
	cancelled := s.last(e.Process, s.v.Event, func(e *history.Event) bool {
		return e.Kind == history.Fault && e.Name == "cancel"
	})
	if failed > call {
		if fault := s.last(e.Process, failed, of(history.Fault)); fault >= call {
			s.say("The request failed after %s had struck (event %d).", s.Events[fault].Name,
				s.cite(fault))
		}
	}
	if cancelled < call {
		s.say("Nobody had cancelled the attempt.")
	}
	if failed < call {
		if over := s.lastState(e.Process, s.v.Event, "expired"); over > call {
			s.say("Its client had reported the end of the session at %s.", s.at(over))
		} else if lost := s.lastState(e.Process, s.v.Event, "disconnected"); lost > call {
			s.say("Its client had lost the connection at %s.", s.at(lost))
		}
	}
	if back := s.lastState(e.Process, s.v.Event, "has-session"); back > failed && failed > call &&
		s.last(e.Process, s.v.Event, of(history.SessionExpired)) < call {
		s.say("By event %d the client was connected again, with the same session: the attempt "+
			"could have gone on.", s.cite(back))
	}
	return true
}

// openFailed explains an attempt that ended before Lock was called, as the lock's Open failed.
func (s *story) openFailed(returned int) {
	e := &s.Events[returned]
	p, message := process(e.Process), strings.TrimPrefix(e.Err, history.OpenFails)
	failed := s.last(e.Process, returned, func(o *history.Event) bool {
		return o.Kind == history.Reply && o.Err != "" && o.Op != "connect" &&
			strings.Contains(message, o.Err)
	})
	if failed >= 0 && s.Request(failed) != nil {
		s.lead("%s's Open failed (event %d) because of one failed request, %s (event %d), instead "+
			"of trying again.", p, s.cite(returned), s.asked(s.Request(failed)), s.cite(failed))
	} else {
		s.lead("%s's Open failed (event %d).", p, s.cite(returned))
	}
	s.say("Its error is %q, and %s never called Lock.", message, p)
	fault := max(s.last(e.Process, returned, of(history.Fault)),
		s.last(0, returned, of(history.Fault)))
	switch {
	case fault < 0:
	case failed > fault:
		s.say("The request failed after %s had struck (event %d).", s.Events[fault].Name,
			s.cite(fault))
	default:
		s.say("Before that %s had struck (event %d).", s.Events[fault].Name, s.cite(fault))
	}
}

// noGoroutineLeak explains goroutines that stay blocked after a run.
func (s *story) noGoroutineLeak() bool {
	s.say("After all processes had finished, a goroutine of the code under test stays blocked: %s.",
		s.message())
	switch on := s.v.Evidence.Message; {
	case strings.HasPrefix(on, "chan send"):
		s.say("Nothing receives from its channel any more.")
	case strings.HasPrefix(on, "chan receive"):
		s.say("Nothing sends on its channel any more, or closes it.")
	}
	for i := range s.Events {
		e := &s.Events[i]
		if e.Kind != history.WatchEvent || e.Watch == 0 || s.waits(e.Process, i) {
			continue
		}
		w := s.Watch(e.Watch)
		returned := s.last(e.Process, i, of(history.LockReturn))
		if w == nil || returned < w.Armed {
			continue
		}
		p := process(e.Process)
		set := w.Armed
		if r := s.Request(w.Armed); r != nil && r.Reply >= 0 {
			set = r.Reply
		}
		how := s.primitive.In("granted the lock")
		if r := &s.Events[returned]; r.Err != "" {
			how = fmt.Sprintf("with the error %q", r.Err)
		}
		s.say("If it passes on what a watch reports, that was too late for the caller: %s had set "+
			"watch %d on %s (event %d), its Lock returned at %s, %s, and the event of the watch "+
			"came only at %s.", p, e.Watch, s.node(e.Path), s.cite(set), s.at(returned), how,
			s.at(i))
	}
	return true
}
