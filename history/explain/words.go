package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/cause"
	"github.com/interlock-sim/interlock/history/timeline"
)

// last returns the last event of a process before the given one that matches, or -1.
func (s *story) last(process int32, before int, matches func(*history.Event) bool) int {
	for i := min(before, len(s.Events)) - 1; i >= 0; i-- {
		if e := &s.Events[i]; e.Process == process && matches(e) {
			return i
		}
	}
	return -1
}

// next returns the first event of a process after the given one that matches, or -1.
func (s *story) next(process int32, after int, matches func(*history.Event) bool) int {
	for i := after + 1; i < len(s.Events); i++ {
		if e := &s.Events[i]; e.Process == process && matches(e) {
			return i
		}
	}
	return -1
}

// of returns a matcher of events of the kinds.
func of(kinds ...history.Kind) func(*history.Event) bool {
	return func(e *history.Event) bool { return slices.Contains(kinds, e.Kind) }
}

// granted matches a LockReturn that grants the lock.
func granted(e *history.Event) bool { return e.Kind == history.LockReturn && e.Err == "" }

// contender returns the path of the znode by which a process was granted the lock, or "".
func (s *story) contender(grant int) string {
	if made := s.made(grant); made >= 0 {
		return s.Events[made].Path
	}
	return s.Events[grant].Path
}

// made returns the creation of the znode by which a process was granted the lock, or -1. If the
// attempt of a process shows no such znode, the process relies on an earlier one.
func (s *story) made(grant int) int {
	e := &s.Events[grant]
	switch node, known := history.GrantNode(s.Events, grant); {
	case known:
		return node.Created
	case e.Path != "":
		return s.Created(e.Path, grant)
	}
	return s.last(e.Process, grant, of(history.NodeCreated))
}

// gone returns the deletion before an event of the znode by which a process was granted the lock,
// or -1. It may have come before the grant.
func (s *story) gone(grant, before int) int {
	if created := s.made(grant); created >= 0 {
		if deleted := s.Deleted(s.Events[created].Path, created); deleted < before {
			return deleted
		}
	}
	return -1
}

// lost is gone for a znode that the process itself has created.
func (s *story) lost(grant, before int) int {
	if made := s.made(grant); made < 0 || s.Events[made].Process != s.Events[grant].Process {
		return -1
	}
	return s.gone(grant, before)
}

// waits reports whether a process has called Lock, which has not returned before an event.
func (s *story) waits(process int32, before int) bool {
	return history.QueueAfter(s.Events[:before]).OpenAttempt(process) >= 0
}

// queued returns the path of the last znode that a process created in its open attempt, or "".
func (s *story) queued(process int32) string {
	for _, n := range slices.Backward(history.QueueAfter(s.Events).Nodes) {
		if n.Process == process && n.Waiting {
			return n.Path
		}
	}
	return ""
}

// lastListing returns the last reply between two events that lists children, or -1.
func (s *story) lastListing(process int32, after, before int) int {
	i := s.last(process, before, func(e *history.Event) bool {
		return e.Kind == history.Reply && e.Err == "" && cause.Listing(e.Op)
	})
	if i > after {
		return i
	}
	return -1
}

// children names the children in a listing, in the order of their numbers.
func (s *story) children(listing int) string {
	listed, known := s.Listed(listing)
	if !known {
		return "children that the history does not show"
	}
	names := make([]string, 0, len(listed))
	for _, path := range timeline.Sorted(listed) {
		name := s.node(path)
		if created := s.Created(path, listing); created >= 0 &&
			s.Events[created].Process == s.Events[listing].Process {
			name += " (its own" + s.ofEarlier(created, listing) + ")"
		}
		names = append(names, name)
	}
	if more := len(names) - childrenTold; more > 1 {
		names = append(names[:childrenTold], fmt.Sprintf("%d more", more))
	}
	return and(names)
}

// childrenTold is the number of children of a listing that a sentence names.
const childrenTold = 12

// ofEarlier says whether a process has asked for a znode of its own in an attempt before that of
// another event.
func (s *story) ofEarlier(created, at int) string {
	call := s.last(s.Events[created].Process, at, of(history.LockCall))
	r := s.Request(created)
	if r == nil || r.Send >= call {
		return ""
	}
	back := s.next(s.Events[created].Process, r.Send, of(history.LockReturn))
	if 0 <= back && back < call && s.Events[back].Err != "" {
		return fmt.Sprintf(", of an earlier attempt, which failed at event %d", s.cite(back))
	}
	return ", of an earlier attempt"
}

// inputs returns the replies and watch events that reached a process between two events.
func (s *story) inputs(process int32, after, before int) []int {
	var found []int
	for _, i := range s.Program(process, before) {
		if e := &s.Events[i]; i > after && (e.Kind == history.WatchEvent ||
			e.Kind == history.Reply && e.Op != "sync") {
			found = append(found, i)
		}
	}
	return found
}

// inputsTold is the number of inputs that a sentence tells.
const inputsTold = 4

// learned tells what reached a process between two events, such as "set a watch on c2#1 (event 34)
// and learned from its watch that c2#1 was deleted (event 61)". It returns "" if that is nothing or
// too much for a sentence.
func (s *story) learned(process int32, after, before int) string {
	inputs := s.inputs(process, after, before)
	if len(inputs) == 0 || len(inputs) > inputsTold {
		return ""
	}
	parts := make([]string, len(inputs))
	for n, i := range inputs {
		parts[n] = s.input(i)
	}
	return and(parts)
}

// input tells an input of a process.
func (s *story) input(i int) string {
	e := &s.Events[i]
	if e.Kind == history.WatchEvent {
		if e.Watch == 0 {
			return fmt.Sprintf("was told that its watch on %s had ended (event %d)",
				s.node(e.Path), s.cite(i))
		}
		return fmt.Sprintf("learned from its watch that %s was %s (event %d)", s.node(e.Path),
			strings.ReplaceAll(e.Name, "-", " "), s.cite(i))
	}
	r := s.Request(i)
	if r == nil {
		return fmt.Sprintf("received a reply (event %d)", s.cite(i))
	}
	what := s.asked(r)
	switch {
	case e.Err == "no node":
		return fmt.Sprintf("learned by %s that there was no such node (event %d)", what, s.cite(i))
	case e.Err != "" && len(r.Changes) > 0:
		return fmt.Sprintf("got %q for %s, which was carried out (event %d)", e.Err, what,
			s.cite(i))
	case e.Err != "":
		return fmt.Sprintf("got %q for %s (event %d)", e.Err, what, s.cite(i))
	case cause.Listing(r.Op):
		return fmt.Sprintf("listed %s (event %d)", s.children(i), s.cite(i))
	case r.Op == "exists+watch" || r.Op == "get+watch":
		return fmt.Sprintf("set a watch on %s (event %d)", s.target(r), s.cite(i))
	case r.Op == "get":
		return fmt.Sprintf("read %s (event %d)", s.target(r), s.cite(i))
	case r.Op == "exists":
		return fmt.Sprintf("read that %s existed (event %d)", s.target(r), s.cite(i))
	}
	return fmt.Sprintf("got the reply to %s (event %d)", what, s.cite(i))
}

// asked names a request, as "create c1#0".
func (s *story) asked(r *cause.Request) string {
	return strings.TrimRight(r.Op+" "+s.target(r), " ")
}

// target names the znode of a request, which the server completes if it is sequential.
func (s *story) target(r *cause.Request) string {
	if len(r.Changes) == 1 {
		return s.node(s.Events[r.Changes[0]].Path)
	}
	return s.node(r.Path)
}

// cite cites an event and returns its number.
func (s *story) cite(event int) int {
	s.cited = append(s.cited, event)
	return event
}

// demise tells how a znode was deleted, as "when c2's session expired (event 38)".
func (s *story) demise(deleted int) string {
	e := &s.Events[deleted]
	end := s.SessionEnd(deleted)
	switch {
	case end < 0:
		return fmt.Sprintf("by %s (event %d)", process(e.Process), s.cite(deleted))
	case s.Events[end].Kind == history.SessionClosed:
		return fmt.Sprintf("when %s's session closed (event %d)", process(e.Process),
			s.cite(deleted))
	}
	return fmt.Sprintf("when %s's session%s expired (event %d)", process(e.Process),
		s.timeout(e.Session, ","), s.cite(deleted))
}

// timeout tells the timeout of a session, if it is known and not told yet.
func (s *story) timeout(session int64, end string) string {
	timeout := s.Timeout(session)
	if timeout == 0 || s.timed {
		return ""
	}
	s.timed = true
	return ", with a timeout of " + history.FormatSpan(timeout) + end
}

// number returns the number at the end of a sequential znode's path, or "".
func number(path string) string {
	if len(path) < 10 || strings.Trim(path[len(path)-10:], "0123456789") != "" {
		return ""
	}
	return path[len(path)-10:]
}

// before reports whether one znode precedes another in the order of their numbers.
func before(a, b string) bool {
	x, y := number(a), number(b)
	return x != "" && y != "" && x < y
}

// counted returns a number and a noun, in the plural unless the number is one.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// were agrees with a number of things.
func were(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// base returns the last element of a path.
func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
