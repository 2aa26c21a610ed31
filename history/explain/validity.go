package explain

import (
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/timeline"
)

// validity explains a grant within another process's validity time.
func (s *story) validity() bool {
	grant := s.v.Event
	e := &s.Events[grant]
	since, known := s.earlier()
	if e.Kind != history.LockReturn || !known {
		return false
	}
	from := &s.Events[since]
	p, q, until := process(e.Process), process(from.Process), from.At+from.Validity
	how := "when it was granted the lock"
	if from.Kind == history.Extended {
		how = "when it extended the lock"
	}
	s.say("%s was granted the lock %s at %s, but %s could rely on it until %s by its own clock: "+
		"the validity time was %s %s %s.", p, s.in(grant), timeline.Clock(e.At), q,
		timeline.Clock(until), span(from.Validity), how, s.in(since))
	if !s.lostKeys(from.Process, since, grant) {
		s.lostKeys(e.Process, grant, grant)
	}
	return true
}

// extension explains an extension of a lost lock.
func (s *story) extension() bool {
	extended := s.v.Event
	e := &s.Events[extended]
	mine, known := s.earlier()
	if e.Kind != history.Extended || !known || len(s.v.Evidence.Events) < 2 {
		return false
	}
	lost := s.v.Evidence.Events[1]
	if lost <= mine || lost >= extended {
		return false
	}
	p := process(e.Process)
	if s.Events[lost].Kind == history.Lost {
		s.say("%s was told that it had lost the lock %s.", p, s.in(lost))
	}
	if q := s.v.Evidence.Other; q != 0 {
		grant := s.next(q, mine, granted)
		if grant < 0 || grant >= extended {
			return false
		}
		s.lead("%s extended its lock (event %d), but %s had been granted the lock (event %d) "+
			"after %s (event %d).", p, s.cite(extended), process(q), s.cite(grant), p, s.cite(mine))
		if end := s.next(q, grant, of(history.UnlockCall)); end >= 0 && end < extended {
			s.say("%s had unlocked since %s.", process(q), s.in(end))
		}
	} else {
		s.lead("%s extended its lock (event %d) after it had lost it.", p, s.cite(extended))
	}
	if answer := s.last(e.Process, extended, of(history.Answer)); answer > mine {
		s.say("The %s%s gave %s %s, and %s took that as an extension.", s.Events[answer].Op,
			onServer(&s.Events[answer]), s.Events[answer].Name, s.in(answer), p)
	}
	if !s.lostKeys(e.Process, mine, extended) && s.v.Evidence.Other != 0 {
		other := s.v.Evidence.Other
		s.lostKeys(other, s.next(other, mine, granted), extended)
	}
	return true
}
