package explain

import "github.com/interlock-sim/interlock/history"

// quiescence explains requests that do not end after the last unlock.
func (s *story) quiescence() bool {
	since, known := s.earlier()
	number := s.v.Evidence.Process
	if !known || number == 0 || since >= s.v.Event {
		return false
	}
	p, e := process(number), &s.Events[s.v.Event]
	began := s.at(since)
	if s.Events[since].Kind == history.FairPhase {
		began += ", the beginning of the fair phase"
	}
	s.lead("%s's requests do not cease: it sent number %d since %s (event %d), %s after that; it "+
		"may send %d, within %s.", p, s.v.Evidence.Count, began, s.cite(s.v.Event),
		span(e.At-s.Events[since].At), history.QuiescenceRequests,
		span(history.QuiescenceAfter))
	if returned := s.last(number, since+1,
		of(history.UnlockReturn, history.LockReturn)); returned >= 0 {
		s.say("It neither wanted nor held the lock: its last call had returned at %s.",
			s.at(returned))
	}
	s.sayRepeated(number, e)
	return true
}

// sayRepeated tells how often a process has sent the same request as an event, and what it first
// and last learned from it.
func (s *story) sayRepeated(number int32, sent *history.Event) {
	same := func(e *history.Event) bool {
		return e.Op == sent.Op && e.Path == sent.Path
	}
	replies := make([]int, 0, s.v.Evidence.Count)
	for i := range s.v.Event {
		e := &s.Events[i]
		if r := s.Request(i); e.Kind == history.Reply && e.Process == number && r != nil &&
			r.Send >= 0 && same(&s.Events[r.Send]) {
			replies = append(replies, i)
		}
	}
	if len(replies) < 2 {
		return
	}
	s.say("It had sent the same request %d times before: it first %s, and last %s.", len(replies),
		s.input(replies[0]), s.input(replies[len(replies)-1]))
}
