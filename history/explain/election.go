package explain

import "github.com/interlock-sim/interlock/history"

// oneLeaderPerTerm explains an observation, or a grant, that contradicts the election.
func (s *story) oneLeaderPerTerm() bool {
	v := s.v.Evidence
	if v.Process == 0 {
		return false
	}
	if s.Events[s.v.Event].Kind != history.Observed {
		s.lead("%s leads in term %d (event %d).", process(v.Process), v.Zxid, s.cite(s.v.Event))
		s.say("That contradicts what is known of the leader %s.", process(v.Other))
		return true
	}
	if v.Zxid == 0 {
		s.lead("%s observed that nobody leads (event %d), while it leads itself.",
			process(v.Process), s.cite(s.v.Event))
		if granted := s.last(v.Process, s.v.Event, of(history.LockReturn)); granted >= 0 {
			s.say("It had been elected at %s, and its node still exists.", s.at(granted))
		}
		return true
	}
	s.lead("%s observed %s as the leader of term %d (event %d).", process(v.Process),
		s.Events[s.v.Event].Name, v.Zxid, s.cite(s.v.Event))
	if v.Other == 0 {
		s.say("%s had never been the first candidate.", s.node(v.Path))
	} else {
		s.say("That contradicts what is known of the leader %s.", process(v.Other))
	}
	for i := range s.v.Event {
		if is := &s.Events[i]; is.Kind == history.NodeCreated && is.Path == v.Path {
			s.say("%s had created %s at %s.", process(is.Process), s.node(v.Path), s.at(i))
		}
	}
	return true
}

// termsInOrder explains an observer that goes back in time.
func (s *story) termsInOrder() bool {
	earlier, known := s.earlier()
	if !known {
		return false
	}
	v := s.v.Evidence
	s.lead("%s saw the leader of term %d (event %d), which is older than a term that it had seen.",
		process(v.Process), v.Zxid, s.cite(s.v.Event))
	s.say("It had seen term %d at %s.", v.After, s.at(earlier))
	return true
}
