package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/history"
)

// noStarvation explains a contender that was overtaken.
func (s *story) noStarvation() bool {
	since, known := s.earlier()
	if !known {
		return false
	}
	waiter, other, times := s.v.Evidence.Process, s.v.Evidence.Other, s.v.Evidence.Count
	grant := s.v.Event
	call := s.last(waiter, grant, of(history.LockCall))
	asked := s.last(other, grant, of(history.LockCall))
	if e := &s.Events[grant]; !granted(e) || e.Process != other || call < 0 || asked < 0 {
		return false
	}
	p, q := process(waiter), process(other)
	when := "in the queue at " + s.at(since)
	if s.Events[since].Kind == history.FairPhase {
		when += ", when the fair phase began"
	}
	given := s.gaveUp(waiter, call, grant)
	if given < 0 {
		s.again(asked, grant)
		s.say("%s was granted the lock at %s while %s was waiting: %s had asked for it at %s, and "+
			"was %s.", q, s.at(grant), p, p, s.at(call), when)
	} else {
		s.say("%s had asked for the lock at %s, and was %s.", p, s.at(call), when)
	}
	often, allowed := "once", "no overtaking"
	if times > 1 {
		often = fmt.Sprintf("%d times", times)
	}
	if limit := s.v.Evidence.Limit; limit > 0 {
		allowed = fmt.Sprint(limit)
	}
	s.say("It was overtaken %s; the lock allows %s.", often, allowed)
	if made := s.made(grant); made >= 0 {
		s.say("%s asked for the lock at %s, and queued with %s at %s.", q, s.at(asked),
			s.node(s.contender(grant)), s.at(made))
	}
	s.places(waiter, call, grant, given)
	return true
}

// gaveUp leads with a waiting process that deleted its own znode before a grant. It returns the
// deletion, or -1 if there is none.
func (s *story) gaveUp(waiter int32, call, grant int) int {
	for i := call; i < grant; i++ {
		e := &s.Events[i]
		if e.Kind != history.NodeDeleted || e.Process != waiter || s.SessionEnd(i) >= 0 {
			continue
		}
		if created := s.Created(e.Path, i); created < call ||
			s.Events[created].Process != waiter {
			continue
		}
		p := process(waiter)
		s.lead("%s gave up its place in the queue: it deleted its own %s (event %d) while it was "+
			"waiting, and %s, which queued later, was granted the lock (event %d).", p,
			s.node(e.Path), s.cite(i), process(s.Events[grant].Process), s.cite(grant))
		return i
	}
	return -1
}

// places tells which places in the queue a process has lost during an attempt. The first sentence
// has told of the given deletion.
func (s *story) places(waiter int32, call, until, given int) {
	p := process(waiter)
	for i := call; i < until; i++ {
		e := &s.Events[i]
		if e.Kind != history.NodeCreated || e.Process != waiter {
			continue
		}
		deleted := s.Deleted(e.Path, i)
		if deleted < 0 || deleted > until {
			s.say("%s's %s, created at %s, was in the queue.", p, s.node(e.Path), s.at(i))
			continue
		}
		listing := s.lastListing(waiter, i, deleted)
		switch {
		case deleted != given:
			s.say("%s's %s, created at %s, was deleted %s", p, s.node(e.Path), s.at(i),
				s.demise(deleted))
			if listing >= 0 {
				fmt.Fprintf(&s.text, ", after it had listed %s (event %d)", s.children(listing),
					s.cite(listing))
			}
			s.text.WriteByte('.')
		case listing >= 0:
			s.say("Before it deleted %s, created at %s, %s had listed %s (event %d).",
				s.node(e.Path), s.at(i), p, s.children(listing), s.cite(listing))
		}
		again := s.next(waiter, deleted, of(history.NodeCreated))
		if again < 0 || again > until {
			s.say("When %s was granted the lock, %s had no node in the queue.",
				process(s.Events[until].Process), p)
		}
	}
}

// noLivelock explains a process that sends requests without end.
func (s *story) noLivelock() bool {
	last := &s.Events[s.v.Event]
	number, count := s.v.Evidence.Process, s.v.Evidence.Count
	if count == 0 || last.Kind != history.Send {
		return false
	}
	var kinds []string
	counts := make(map[string]int)
	first := s.v.Event
	for i, left := s.v.Event, count; i >= 0 && left > 0; i-- {
		e := &s.Events[i]
		if e.Kind != history.Send || e.Process != number {
			continue
		}
		kind := strings.TrimRight(e.Op+" "+s.node(e.Path), " ")
		if counts[kind]++; counts[kind] == 1 {
			kinds = append(kinds, kind)
		}
		first, left = i, left-1
	}
	slices.Sort(kinds)
	for n, kind := range kinds {
		kinds[n] = fmt.Sprintf("%d × %s", counts[kind], kind)
	}
	p := process(number)
	s.say("From event %d to %s, within %s, %s sent %s (%s), and no process was granted the lock, "+
		"entered, left or finished.", first, s.at(s.v.Event),
		span(last.At-s.Events[first].At), p, counted(count, "request"), and(kinds))
	if limit := s.v.Evidence.Limit; limit > 0 {
		s.say("%d in a second are allowed.", limit)
	}
	if r := s.Request(s.v.Event); r != nil {
		if reply := s.last(number, s.v.Event, of(history.Reply)); reply >= 0 {
			s.say("Before the last one it %s.", s.input(reply))
		}
	}
	watches := 0
	for _, r := range s.Requests() {
		if r.Process == number && r.Send >= first && r.Send <= s.v.Event &&
			strings.HasSuffix(r.Op, "+watch") { // It sets none if there is no such node.
			watches++
		}
	}
	if watches == 0 {
		s.lead("%s polls instead of waiting for an event: none of its last %s sets a watch.", p,
			counted(count, "request"))
	}
	return true
}

// noHerd explains a release that woke several processes, or what an acquire spends or leaves.
func (s *story) noHerd() bool {
	switch s.Events[s.v.Event].Kind {
	case history.LockReturn:
		return s.expensive()
	case history.NodeCreated:
		return s.longName()
	case history.WatchArmed:
		return s.leftWatch()
	case history.WatchFired:
		return s.wokenTogether()
	}
	return false
}

// wokenTogether explains a release that woke several processes.
func (s *story) wokenTogether() bool {
	e := &s.Events[s.v.Event]
	var woken []string
	change := -1
	same := s.sameWatch()
	for i := range s.Events {
		o := &s.Events[i]
		if o.Zxid != e.Zxid {
			continue
		}
		switch o.Kind {
		case history.NodeDeleted:
			change = i
		case history.WatchFired:
			w := s.Watch(o.Watch)
			if w == nil || i > s.v.Event || !s.waits(o.Process, i) {
				continue
			}
			by := ""
			if r := s.Request(w.Armed); r != nil && r.Reply >= 0 {
				by = fmt.Sprintf(", set at event %d", s.cite(r.Reply))
			}
			on := ""
			if !same {
				on = " on " + s.node(o.Path)
			}
			woken = append(woken, fmt.Sprintf("%s by its watch%s%s (event %d)",
				process(o.Process), on, by, s.cite(i)))
		}
	}
	if change < 0 || len(woken) < 2 {
		return false
	}
	how := strings.TrimSuffix(s.demise(change), fmt.Sprintf(" (event %d)", change))
	if same {
		s.lead("Several contenders watch %s, so one deletion, of %s %s (event %d), wakes them "+
			"all: each should watch its own predecessor.", s.node(e.Path),
			s.node(s.Events[change].Path), how, s.cite(change))
		s.say("It woke %d waiting processes: %s.", len(woken), strings.Join(woken, ", then "))
	} else {
		s.say("One deletion, of %s %s, woke %d waiting processes: %s.",
			s.node(s.Events[change].Path), s.demise(change), len(woken), and(woken))
	}
	s.nextInLine(change)
	return true
}

// sameWatch reports whether the processes that a release woke watched one znode.
func (s *story) sameWatch() bool {
	woken := &s.Events[s.v.Event]
	for i := range s.Events[:s.v.Event] {
		e := &s.Events[i]
		if e.Kind == history.WatchFired && e.Zxid == woken.Zxid && s.waits(e.Process, i) &&
			e.Path != woken.Path {
			return false
		}
	}
	return true
}

// nextInLine tells who is the next contender after a deletion.
func (s *story) nextInLine(change int) {
	first := ""
	for i := range s.Events[:change] {
		n := &s.Events[i]
		if n.Kind == history.NodeCreated && s.Live(n.Path, change) && number(n.Path) != "" &&
			history.Directory(n.Path) == history.Directory(s.Events[change].Path) &&
			(first == "" || before(n.Path, first)) {
			first = n.Path
		}
	}
	if first != "" {
		s.say("By number, %s was now the first of the queue.", s.node(first))
	}
}

// expensive explains an acquire that cost more requests than the lock allows.
func (s *story) expensive() bool {
	grant := s.v.Event
	e := &s.Events[grant]
	call := s.last(e.Process, grant, of(history.LockCall))
	if call < 0 {
		return false
	}
	var kinds []string
	counts := make(map[string]int)
	for _, r := range s.Requests() {
		if r.Process != e.Process || r.Send < call || r.Send > grant || r.Op == "connect" {
			continue
		}
		if counts[r.Op]++; counts[r.Op] == 1 {
			kinds = append(kinds, r.Op)
		}
	}
	for n, kind := range kinds {
		kinds[n] = fmt.Sprintf("%d × %s", counts[kind], kind)
	}
	s.say("%s called Lock at %s and was granted the lock at %s. In between it sent %s.",
		process(e.Process), s.at(call), s.at(grant), and(kinds))
	s.say("That is %s for one acquire, during which %s %s deleted.",
		counted(s.v.Evidence.Count, "request"), counted(s.v.Evidence.Changes, "node"),
		were(s.v.Evidence.Changes))
	return true
}
