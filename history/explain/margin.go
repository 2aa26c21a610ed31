package explain

import (
	"time"

	"github.com/interlock-sim/interlock/history"
)

// margin explains a notice of loss that came too late before the session's end, or after it.
func (s *story) margin() bool {
	first, known := s.earlier()
	if !known {
		return false
	}
	told, end := first, s.v.Event
	if s.Events[end].Kind != history.SessionExpired {
		told, end = end, first
	}
	if s.Events[end].Kind != history.SessionExpired {
		return false
	}
	number := s.v.Evidence.Process
	p, at := process(number), s.Events[told].At-s.Events[told].Ago
	lease := s.timeout(s.Events[end].Session, ",")
	switch left := s.Events[end].At - at; {
	case s.Events[told].Kind == history.UnlockCall:
		s.lead("%s's lock told its holder of no loss until the unlock (event %d), %s after %s's "+
			"session%s had ended (event %d).", p, s.cite(told), span(-left), p, lease, s.cite(end))
	case left < 0:
		s.lead("%s's lock told its holder of the loss (event %d) %s after %s's session%s had "+
			"ended (event %d).", p, s.cite(told), span(-left), p, lease, s.cite(end))
	default:
		s.lead("%s's lock told its holder of the loss (event %d) only %s before %s's session%s "+
			"ended (event %d).", p, s.cite(told), span(left), p, lease, s.cite(end))
	}
	if promised := time.Duration(s.v.Evidence.Limit); promised > 0 {
		s.say("%s's lock promises to do so at least %s before the end.", p, span(promised))
	} else {
		s.say("%s's lock promises to do so before the end.", p)
	}
	if grant := s.grantOf(number, min(told, end)); grant >= 0 {
		s.say("%s was granted the lock at %s.", p, s.at(grant))
		lost := s.last(number, max(told, end), func(e *history.Event) bool {
			return e.Kind == history.SessionState && e.Name == "disconnected"
		})
		if lost > grant {
			s.say("Its client reported the loss of the connection at %s.", s.at(lost))
		}
	}
	return true
}
