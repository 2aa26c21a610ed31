package explain

import "github.com/interlock-sim/interlock/history"

// accepted matches a write of the resource that was accepted.
func accepted(e *history.Event) bool { return e.Kind == history.ResourceWrite && e.Err == "" }

// fencing explains an accepted write of an older holder.
func (s *story) fencing() bool {
	write := s.v.Event
	e := &s.Events[write]
	mine := s.grantOf(e.Process, write)
	if !accepted(e) || mine < 0 {
		return false
	}
	other := -1
	for i := range s.Events[:write] {
		if o := &s.Events[i]; accepted(o) && o.Process != e.Process &&
			s.grantOf(o.Process, i) > mine {
			other = i
		}
	}
	if other < 0 {
		return false
	}
	o := &s.Events[other]
	theirs := s.grantOf(o.Process, other)
	p, q := process(e.Process), process(o.Process)
	s.say("%s's write was accepted %s although %s, which was granted the lock later, had written "+
		"at %s. %s was granted the lock at %s, %s at %s.", p, s.in(write), q, s.at(other), p,
		s.at(mine), q, s.at(theirs))
	if deleted := s.gone(mine, write); deleted >= 0 {
		s.say("%s's %s was deleted %s.", p, s.node(s.contender(mine)), s.demise(deleted))
	}
	a, b := s.Events[mine].Zxid, s.Events[theirs].Zxid
	switch {
	case a == 0 || b == 0:
		s.lead("%s wrote after a later holder (event %d), and had no token by which the resource "+
			"could refuse the write.", p, s.cite(write))
	case a >= b:
		s.lead("%s's fencing token, %d, is not lower than that of %s's later grant, %d: the "+
			"resource could not refuse %s's late write (event %d).", p, a, q, b, p, s.cite(write))
		s.session(mine)
		s.session(theirs)
	default:
		s.lead("%s's late write (event %d) was not refused, although its fencing token is lower "+
			"than one that the resource had seen.", p, s.cite(write))
		s.say("Its fencing token, %d, is lower than %s's, %d: the resource did not refuse it.", a,
			q, b)
	}
	return true
}

// noLostUpdate explains a write that overwrote one that it had not seen.
func (s *story) noLostUpdate() bool {
	write := s.v.Event
	e := &s.Events[write]
	read := s.last(e.Process, write, of(history.ResourceRead))
	if !accepted(e) || read < 0 {
		return false
	}
	other := -1
	for i := read + 1; i < write; i++ {
		if o := &s.Events[i]; accepted(o) && o.Process != e.Process {
			other = i
		}
	}
	if other < 0 {
		return false
	}
	o := &s.Events[other]
	p, q := process(e.Process), process(o.Process)
	s.say("%s read version %d of the resource %s, %s wrote version %d %s, and then %s's write, "+
		"made from version %d, was accepted %s: it overwrote %s's.", p, s.Events[read].Zxid,
		s.in(read), q, o.Zxid, s.in(other), p, s.Events[read].Zxid, s.in(write), q)
	mine, theirs := s.grantOf(e.Process, write), s.grantOf(o.Process, other)
	if mine < 0 || theirs < 0 {
		return true
	}
	for _, v := range s.before {
		if v.Event == write && v.Property == history.Fencing {
			s.say("How both came to hold the lock is told above.")
			return true
		}
	}
	s.say("%s was granted the lock at %s, %s at %s.", p, s.at(mine), q, s.at(theirs))
	first, second := mine, theirs
	if theirs < mine {
		first, second = theirs, mine
	}
	if deleted := s.gone(first, write); deleted >= 0 && deleted < second {
		q := process(s.Events[first].Process)
		late, other := write, other
		if first == theirs {
			late, other = other, write
		}
		if late > deleted {
			s.lead("%s wrote the resource (event %d) after it had lost the lock (event %d), and "+
				"nothing refused the write.", q, s.cite(late), s.cite(deleted))
		}
		s.show(other)
		s.say("In between, %s's %s was deleted %s, and nothing kept %s from writing after that.", q,
			s.node(s.contender(first)), s.demise(deleted), q)
	}
	if a, b := s.Events[mine].Zxid, s.Events[theirs].Zxid; a != 0 && a < b {
		s.say("%s's fencing token, %d, was lower than %s's, %d, but the resource accepted the "+
			"write.", p, a, q, b)
	}
	return true
}

// monotonicToken explains a token that is not higher than one of an earlier grant.
func (s *story) monotonicToken() bool {
	grant := s.v.Event
	e := &s.Events[grant]
	if !granted(e) {
		return false
	}
	for i := grant - 1; i >= 0; i-- {
		o := &s.Events[i]
		if !granted(o) || o.Zxid < e.Zxid {
			continue
		}
		s.say("%s was granted the lock at %s with token %d, after %s was granted it at %s with "+
			"token %d, which is not lower.", process(e.Process), s.at(grant), e.Zxid,
			process(o.Process), s.at(i), o.Zxid)
		s.session(grant)
		s.session(i)
		return true
	}
	return false
}

// session tells where the token of a grant comes from, if it is the session or the creation of the
// znode.
func (s *story) session(grant int) {
	e := &s.Events[grant]
	path := s.contender(grant)
	created := s.Created(path, grant)
	if created < 0 {
		return
	}
	p := process(e.Process)
	switch n := &s.Events[created]; e.Zxid {
	case n.Session:
		if grant == s.v.Event {
			s.lead("%s's lock takes the id of the session for the token (event %d), and the id "+
				"does not rise with each grant.", p, s.cite(grant))
		}
		s.say("%s's token is the id of its session, not the transaction %d that created its %s "+
			"%s.", p, n.Zxid, s.node(path), s.in(created))
	case n.Zxid:
		s.say("%s's token is the transaction that created its %s %s.", p, s.node(path),
			s.in(created))
	default:
		s.say("%s's %s was created by transaction %d %s.", p, s.node(path), n.Zxid, s.in(created))
	}
}
