package explain

import (
	"fmt"
	"slices"
	"time"

	"github.com/interlock-sim/interlock/history"
)

// grantOf returns the grant by which a process held the lock just before an event, or -1.
func (s *story) grantOf(process int32, before int) int { return s.last(process, before, granted) }

// sayLost tells how the znode of a grant was deleted, and how its holder could have known. It
// returns false if the znode exists at the event, or is unknown.
func (s *story) sayLost(grant, at int) bool {
	deleted := s.lost(grant, at)
	if deleted < 0 {
		return false
	}
	s.say("But %s had been deleted %s.", s.node(s.contender(grant)), s.demise(deleted))
	return true
}

// insider returns the Enter of a process that is inside when another enters, and that excludes it:
// one that has lost its znode, if there is one, or else the last. It returns -1 if there is none.
func (s *story) insider(enter int) int {
	var inside []int
	for i := range s.Events[:enter] {
		o := &s.Events[i]
		if o.Process == s.Events[enter].Process || o.Kind != history.Enter &&
			o.Kind != history.Leave && o.Kind != history.Lost && o.Kind != history.Crashed {
			continue
		}
		inside = slices.DeleteFunc(inside,
			func(n int) bool { return s.Events[n].Process == o.Process })
		if o.Kind == history.Enter && !(o.Shared() && s.Events[enter].Shared()) {
			inside = append(inside, i)
		}
	}
	for _, since := range inside {
		grant := s.grantOf(s.Events[since].Process, since)
		if grant >= 0 && s.lost(grant, enter) >= 0 {
			return since
		}
	}
	if len(inside) == 0 {
		return -1
	}
	return inside[len(inside)-1]
}

// clientMutualExclusion explains an entry while another process was inside.
func (s *story) clientMutualExclusion() bool {
	enter := s.v.Event
	e := &s.Events[enter]
	since := s.insider(enter)
	if e.Kind != history.Enter || since < 0 {
		return false
	}
	inside := s.Events[since].Process
	p, q := process(e.Process), process(inside)
	mine, theirs := s.grantOf(e.Process, enter), s.grantOf(inside, since)
	deleted := -1
	if mine >= 0 && theirs >= 0 {
		deleted = s.lost(theirs, mine)
	}
	dead := deleted >= 0 && deleted < theirs
	if dead {
		s.lead("%s took the lock (event %d) by %s, which had been deleted %s.", q, s.cite(theirs),
			s.node(s.contender(theirs)), s.demise(deleted))
	}
	if deleted >= 0 && !dead && s.late(inside, deleted, enter) {
		s.say("%s had entered at %s, and had neither left nor been notified of a loss.", q,
			s.at(since))
	} else {
		s.say("%s entered its critical section %s while %s was inside: %s had entered at %s, and "+
			"had neither left nor been notified of a loss.", p, s.in(enter), q, q, s.at(since))
	}
	if mine < 0 || theirs < 0 {
		return true
	}
	switch {
	case deleted < 0:
		s.bothGranted(mine, theirs)
		return true
	case dead:
		s.say("%s was granted the lock at %s.", p, s.at(mine))
	default:
		s.say("%s was granted the lock by %s (event %d), which was deleted %s. After that %s was "+
			"granted the lock (event %d).", q, s.node(s.contender(theirs)), s.cite(theirs),
			s.demise(deleted), p, s.cite(mine))
	}
	s.notified(inside, theirs, deleted, enter)
	return true
}

// bothGranted tells why two processes were granted the lock, of whom the second entered.
func (s *story) bothGranted(mine, theirs int) {
	first, second := min(mine, theirs), max(mine, theirs)
	s.say("%s was granted the lock at %s, %s at %s.", process(s.Events[first].Process),
		s.at(first), process(s.Events[second].Process), s.at(second))
	s.overwrote(mine, theirs)
	if !s.lostKeys(s.Events[theirs].Process, theirs, s.v.Event) {
		s.lostKeys(s.Events[mine].Process, mine, s.v.Event)
	}
	s.unasked(first, second)
	s.unasked(second, first)
	if rival := s.contender(first); s.first == "" && rival != "" && s.contender(second) != "" {
		s.basis(second, rival)
	}
}

// notified tells when a holder was notified that its znode had been deleted, and what its client
// library had reported before.
func (s *story) notified(holder int32, grant, deleted, by int) {
	q := process(holder)
	gone, back := s.lastState(holder, deleted, "disconnected"), s.lastState(holder, deleted,
		"has-session")
	if gone > grant && gone > back {
		s.say("%s's client had reported the loss of the connection at %s, %s before the deletion.",
			q, s.at(gone), span(s.Events[deleted].At-s.Events[gone].At))
	}
	if over := s.lastState(holder, by, "expired"); over > deleted {
		s.say("%s's client reported the end of the session at %s.", q, s.at(over))
	}
	if lost := s.next(holder, deleted, of(history.Lost)); lost > by {
		s.say("%s's lock notified its holder %s after the deletion.", q,
			span(s.Events[lost].At-s.Events[deleted].At))
	}
}

// late leads with a lock that told its holder too late, or never, that its znode had been deleted,
// and reports whether that is so.
func (s *story) late(holder int32, deleted, by int) bool {
	q, other := process(holder), process(s.Events[by].Process)
	lost := s.next(holder, deleted, of(history.Lost))
	switch {
	case lost < 0:
		s.lead("%s's lock never told its holder that the lock was lost (event %d): %s entered its "+
			"critical section (event %d) while %s was inside.", q, s.cite(deleted), other,
			s.cite(by), q)
	case lost > by:
		s.lead("%s's lock told its holder too late (event %d) that the lock was lost (event %d): "+
			"%s had entered its critical section (event %d) while %s was inside.", q,
			s.cite(lost), s.cite(deleted), other, s.cite(by), q)
	default:
		return false
	}
	return true
}

// span renders a length of time.
func span(d time.Duration) string {
	if d == 0 {
		return "no virtual time"
	}
	return history.FormatSpan(d)
}

// lossNotification explains a holder that lost the lock and was not told, or was granted it again.
func (s *story) lossNotification() bool {
	e := &s.Events[s.v.Event]
	p := process(e.Process)
	switch e.Kind {
	case history.LockReturn:
		return s.deadGrant(s.v.Event)
	case history.UnlockReturn, history.ReenterReturn:
		grant := s.grantOf(e.Process, s.v.Event)
		if grant < 0 {
			return false
		}
		if e.Kind == history.UnlockReturn {
			s.say("%s's Unlock returned without an error (event %d), as if %s had held the lock "+
				"until then%s.", p, s.cite(s.v.Event), p, s.ignored())
		} else {
			s.say("%s was granted the lock a second time at %s, as if it still held it.", p,
				s.at(s.v.Event))
		}
		s.say("It was granted the lock at %s by %s.", s.at(grant), s.node(s.contender(grant)))
		if !s.sayLost(grant, s.v.Event) {
			if told := s.last(e.Process, s.v.Event, of(history.Lost)); told > grant {
				s.say("But it was notified at %s that it had lost the lock.", s.at(told))
			}
		}
		call := s.last(e.Process, s.v.Event, of(history.UnlockCall, history.ReenterCall))
		if inputs := s.inputs(e.Process, call, s.v.Event); len(inputs) > 0 &&
			s.ignored() == "" {
			s.say("During the call it %s.", s.input(inputs[len(inputs)-1]))
		}
		return true
	case history.Enter:
		told := s.last(e.Process, s.v.Event, of(history.Lost))
		if told < 0 {
			return false
		}
		s.say("%s entered its critical section at %s, after it was notified at %s that it had "+
			"lost the lock.", p, s.at(s.v.Event), s.at(told))
		return true
	}
	return false
}

// ignored tells of the error that an Unlock without an error had got last, or returns "".
func (s *story) ignored() string {
	e := &s.Events[s.v.Event]
	call := s.last(e.Process, s.v.Event, of(history.UnlockCall))
	inputs := s.inputs(e.Process, call, s.v.Event)
	if call < 0 || len(inputs) == 0 {
		return ""
	}
	last := inputs[len(inputs)-1]
	r := s.Request(last)
	if r == nil || s.Events[last].Kind != history.Reply || s.Events[last].Err == "" {
		return ""
	}
	return fmt.Sprintf(", although its %s had failed with %q (event %d)", s.asked(r),
		s.Events[last].Err, s.cite(last))
}

// sessionLoss explains a lease that outlived the client's report that the session was over.
func (s *story) sessionLoss() bool {
	for i := s.v.Event; i >= 0; i-- {
		e := &s.Events[i]
		if e.Kind != history.SessionState || e.Name != "expired" {
			continue
		}
		grant := s.grantOf(e.Process, i)
		if grant < 0 || s.next(e.Process, grant, of(history.UnlockReturn)) >= 0 &&
			s.next(e.Process, grant, of(history.UnlockReturn)) < s.v.Event {
			continue
		}
		p := process(e.Process)
		told := s.next(e.Process, i, of(history.Lost))
		s.say("%s was granted the lock at %s by %s.", p, s.at(grant), s.node(s.contender(grant)))
		switch {
		case told < 0:
			s.lead("%s's lock never told its holder that the session had expired, which %s's "+
				"client had reported (event %d).", p, p, s.cite(i))
		case told > s.v.Event:
			s.lead("%s's lock told its holder too late (event %d), %s after %s's client had "+
				"reported it (event %d), that the session had expired.", p, s.cite(told),
				span(s.Events[told].At-e.At), p, s.cite(i))
		default:
			s.say("Its client library reported at %s that the session had expired.", s.at(i))
		}
		s.sayLost(grant, s.v.Event)
		watch := s.last(e.Process, s.v.Event+1, func(e *history.Event) bool {
			return e.Kind == history.WatchEvent && e.Watch == 0
		})
		if watch > i {
			s.say("The library also ended %s's watch on %s (event %d).", p,
				s.node(s.Events[watch].Path), s.cite(watch))
		}
		if s.last(e.Process, s.v.Event, of(history.Send)) < i {
			s.say("Since then %s has sent no request.", p)
		}
		if later := s.Events[s.v.Event].At - e.At; later > 0 {
			s.say("At %s, %s after the report, the lease still stood.", s.at(s.v.Event),
				span(later))
		} else {
			s.say("At %s the lease still stood.", s.at(s.v.Event))
		}
		return true
	}
	return false
}

// reentrancy explains a lock that was released before its last unlock, or after it, or refused to
// its holder.
func (s *story) reentrancy() bool {
	e := &s.Events[s.v.Event]
	grant := s.grantOf(e.Process, s.v.Event)
	if grant < 0 {
		return false
	}
	p, node := process(e.Process), s.node(s.contender(grant))
	again := s.last(e.Process, s.v.Event, of(history.ReenterReturn))
	s.say("%s was granted the lock at %s by %s", p, s.at(grant), node)
	if again > grant {
		s.text.WriteString(", and a second time at " + s.at(again))
	}
	s.text.WriteString(".")
	exited := s.next(e.Process, grant, of(history.Exited))
	switch e.Kind {
	case history.NodeDeleted:
		call := s.last(e.Process, s.v.Event, of(history.UnlockCall))
		if call > grant {
			return false
		}
		if again > grant {
			s.lead("%s deleted its %s (event %d) while it still held the lock: it had been "+
				"granted it twice and had not yet unlocked twice.", p, node, s.cite(s.v.Event))
		} else {
			s.say("%s deleted %s at %s, before it called Unlock.", p, node, s.at(s.v.Event))
		}
		if exited >= 0 {
			s.say("The deletion belongs to the first of its two unlocks, which returned at %s.",
				s.at(exited))
		}
		if unlock := s.next(e.Process, s.v.Event, of(history.UnlockCall)); unlock >= 0 {
			s.say("It called the last unlock only at %s: in between others could be granted the "+
				"lock that it still held.", s.at(unlock))
		}
		return true
	case history.UnlockReturn:
		if exited >= 0 && exited < s.v.Event {
			s.say("It unlocked once at %s, and for the last time at %s, without an error.",
				s.at(exited), s.at(s.v.Event))
		} else {
			s.say("It unlocked for the last time at %s, without an error.", s.at(s.v.Event))
		}
		if path := s.contender(grant); path != "" && s.Live(path, s.v.Event) {
			s.lead("%s's last unlock (event %d) released nothing: its %s still existed.", p,
				s.cite(s.v.Event), node)
			call := s.last(e.Process, s.v.Event, of(history.UnlockCall))
			sent := s.next(e.Process, call, of(history.Send))
			if call >= 0 && (sent < 0 || sent > s.v.Event) {
				s.say("That unlock sent no request: its code returned at once.")
			}
		}
		return true
	}
	return false
}
