package explain

import "github.com/interlock-sim/interlock/history"

// promptness explains an attempt that goes on after its end.
func (s *story) promptness() bool {
	ended, known := s.earlier()
	number := s.v.Evidence.Process
	if !known || number == 0 || ended >= s.v.Event {
		return false
	}
	p, e := process(number), &s.Events[s.v.Event]
	cancelled := s.Events[ended].Kind == history.Fault
	if s.v.Evidence.Path == "" {
		s.lead("%s's attempt was cancelled (event %d), but its Lock had not returned %v later "+
			"(event %d).", p, s.cite(ended), e.At-s.Events[ended].At, s.cite(s.v.Event))
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
