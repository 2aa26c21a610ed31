package explain

import (
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/cause"
)

// oneLeaderPerTerm explains an observation, or a grant, that contradicts the election.
func (s *story) oneLeaderPerTerm() bool {
	v := s.v.Evidence
	if v.Process == 0 {
		return false
	}
	if s.Events[s.v.Event].Kind != history.Observed {
		if other := s.grantOf(v.Other, s.v.Event); granted(&s.Events[s.v.Event]) && other >= 0 {
			s.overwrote(s.v.Event, other)
		}
		s.say("%s leads in term %d (event %d).", process(v.Process), v.Zxid, s.cite(s.v.Event))
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
		if listing := s.lastListing(v.Process, -1, s.v.Event); listing >= 0 {
			s.say("%s had listed %s %s.", process(v.Process), s.children(listing), s.in(listing))
			if told := s.learned(v.Process, listing, s.v.Event); told != "" {
				s.say("Then it %s, and took that candidate for the leader.", told)
			}
		}
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
	s.unchecked(v.Process)
	s.say("%s saw the leader of term %d (event %d), which is older than a term that it had seen.",
		process(v.Process), v.Zxid, s.cite(s.v.Event))
	s.say("It had seen term %d at %s.", v.After, s.at(earlier))
	return true
}

// unchecked leads with the write that the process had read last before the violation, if it was
// made without a version check over that of another process.
func (s *story) unchecked(reader int32) {
	read := s.last(reader, s.v.Event, func(e *history.Event) bool {
		return e.Kind == history.Reply && e.Err == "" && cause.ReadsData(e.Op)
	})
	if read < 0 {
		return
	}
	r := s.Request(read)
	if r == nil || r.Serve < 0 {
		return
	}
	change := s.LastChange(r.Path, r.Serve)
	lost := s.LastChange(r.Path, change)
	if change < 0 || lost < 0 || s.Events[change].Kind != history.NodeChanged ||
		s.Events[lost].Process == s.Events[change].Process {
		return
	}
	if w, known := s.Written(change); known && w.Version == nil {
		s.lead("%s overwrote what %s had written (event %d): it set %s without a version check "+
			"(event %d).", process(s.Events[change].Process), process(s.Events[lost].Process),
			s.cite(lost), s.node(r.Path), s.cite(change))
	}
}
