package explain

import (
	"fmt"
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// noEarlyPass explains a process that passes a barrier before others have reached it.
func (s *story) noEarlyPass() bool {
	number, places := s.v.Evidence.Process, s.v.Evidence.Count
	if setter := s.v.Evidence.Other; number != 0 && setter != 0 && places == 0 {
		s.passedSet(number, setter)
		return true
	}
	if number == 0 || places == 0 {
		return false
	}
	p := process(number)
	if other := s.v.Evidence.Other; other != 0 {
		s.lead("%s left the barrier (event %d) while %s was still inside%s.", p, s.cite(s.v.Event),
			process(other), s.lastFact(number))
		if granted := s.last(other, s.v.Event, of(history.LockReturn)); granted >= 0 {
			s.say("%s had passed it at %s, and has not called Unlock since.", process(other),
				s.at(granted))
		} else if call := s.last(other, s.v.Event, of(history.LockCall)); call >= 0 {
			s.say("%s was about to enter: it had called Lock at %s.", process(other), s.at(call))
		}
		return true
	}
	call := s.last(number, s.v.Event, of(history.LockCall))
	s.lead("%s passed the barrier (event %d), which needs %d processes at once%s.", p,
		s.cite(s.v.Event), places, s.listed(call))
	if call < 0 {
		return true
	}
	callers, apart := s.callers(s.v.Event), ""
	if len(callers) >= int(places) {
		apart = " that belong to no other round"
	}
	s.say("It had called Lock at %s, and at no time of that call were %d calls open%s.",
		s.at(call), places, apart)
	for _, other := range callers {
		back := s.last(other, s.v.Event, of(history.LockReturn))
		if other == number || back < 0 {
			continue
		}
		said := "been granted"
		if s.Events[back].Err != "" {
			said = "failed"
		}
		s.say("The last Lock of %s to return had %s at %s.", process(other), said, s.at(back))
	}
	return true
}

// lastFact tells the last that a leaving process had received before the violation.
func (s *story) lastFact(number int32) string {
	call := s.last(number, s.v.Event, of(history.UnlockCall))
	inputs := s.inputs(number, call, s.v.Event)
	if call < 0 || len(inputs) == 0 {
		return ""
	}
	last := inputs[len(inputs)-1]
	if r := s.Request(last); r != nil && s.Events[last].Kind == history.Reply &&
		r.Watch != nil && r.Watch.Kind == "data" {
		return fmt.Sprintf(", although its last reply said that %s existed (event %d): it did not "+
			"wait for its watch %d there", s.target(r), s.cite(last), r.Watch.Number)
	}
	return ": last it " + s.input(last)
}

// listed tells which znodes a process has listed last since its call of Lock, such as ", after it
// had listed c1#0 (its own, of an earlier attempt) and c1#1 (its own) (event 35)".
func (s *story) listed(call int) string {
	listing := s.lastListing(s.v.Evidence.Process, call, s.v.Event)
	if call < 0 || listing < 0 {
		return ""
	}
	return fmt.Sprintf(", after it had listed %s (event %d)", s.children(listing), s.cite(listing))
}

// passedSet explains a process that passes a single barrier while it is set.
func (s *story) passedSet(number, setter int32) {
	s.lead("%s passed the barrier (event %d), which %s had set.", process(number),
		s.cite(s.v.Event), process(setter))
	set := s.last(setter, s.v.Event, of(history.LockReturn))
	call := s.last(number, s.v.Event, of(history.LockCall))
	if set < 0 || call < 0 {
		return
	}
	s.say("%s's Lock, which sets it, had returned at %s; %s called Lock only at %s, and by the "+
		"end of that call %s had not called Unlock.", process(setter), s.at(set), process(number),
		s.at(call), process(setter))
}

// callers returns the processes that have called Lock before an event, by number.
func (s *story) callers(before int) (all []int32) {
	for i := range before {
		if e := &s.Events[i]; e.Kind == history.LockCall && !slices.Contains(all, e.Process) {
			all = append(all, e.Process)
		}
	}
	slices.Sort(all)
	return all
}
