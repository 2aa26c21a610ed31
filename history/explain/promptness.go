package explain

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/cause"
)

// promptness explains an attempt that goes on after its end.
func (s *story) promptness() bool {
	ended, known := s.earlier()
	number := s.v.Evidence.Process
	if !known || number == 0 || ended >= s.v.Event {
		return false
	}
	if s.Events[ended].Kind == history.TimedCall {
		return s.overrun(ended)
	}
	p, e := process(number), &s.Events[s.v.Event]
	cancelled := s.Events[ended].Kind == history.Fault
	if s.v.Evidence.Path == "" {
		s.lead("%s's attempt was cancelled (event %d), but its Lock had not returned %s later "+
			"(event %d); %s are allowed.", p, s.cite(ended), span(e.At-s.Events[ended].At),
			s.cite(s.v.Event), span(history.PromptReturn))
		s.say("It had no request to wait for, and no other fault had struck.")
		return true
	}
	how := "its Lock had failed"
	if cancelled {
		how = "its attempt had been cancelled"
	}
	s.lead("%s sent a create of %s (event %d) after %s (event %d).", p, s.node(e.Path),
		s.cite(s.v.Event), how, s.cite(ended))
	call := s.last(number, ended, of(history.LockCall))
	if call < 0 {
		return true
	}
	s.say("The attempt had begun at %s; no attempt had sent a create of that path.", s.at(call))
	if back := s.next(number, ended, of(history.LockReturn)); cancelled &&
		(back < 0 || back > s.v.Event) {
		s.say("Lock had not returned yet.")
	} else {
		s.say("A part of the lock went on after Lock had returned.")
	}
	return true
}

// overrun explains a call that goes on after its time limit.
func (s *story) overrun(call int) bool {
	p, from, e := process(s.v.Evidence.Process), &s.Events[call], &s.Events[s.v.Event]
	if from.Validity == 0 {
		s.lead("%s tried the lock (event %d), and the try had not returned %s later "+
			"(event %d).", p, s.cite(call), span(e.At-from.At), s.cite(s.v.Event))
	} else {
		s.lead("%s called the lock with a limit of %s (event %d), and the call had not "+
			"returned %s after that (event %d).", p, span(from.Validity), s.cite(call),
			span(e.At-from.At-from.Validity), s.cite(s.v.Event))
	}
	s.say("It had no request to wait for, and no fault but a cancel had struck.")
	if r := s.watching(s.v.Evidence.Process, call); r != nil {
		s.say("It waited for its watch on %s (event %d).", s.node(r.Path), s.cite(r.Reply))
	}
	return true
}

// watching returns the last request since an event by which a process set a watch that it still has
// at the violation, or nil.
func (s *story) watching(number int32, since int) *cause.Request {
	for _, r := range slices.Backward(s.Requests()) {
		if r.Process == number && r.Watch != nil && r.Send > since && 0 <= r.Reply &&
			r.Reply < s.v.Event && (r.Watch.Event < 0 || r.Watch.Event > s.v.Event) {
			return r
		}
	}
	return nil
}
