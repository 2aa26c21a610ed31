package explain

import (
	"fmt"

	"github.com/interlock-sim/interlock/history"
)

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
	s.say("%s was granted the lock at %s, and %s later, at %s. %s had written %s before %s's late "+
		"write.", p, s.at(mine), q, s.at(theirs), q, s.in(other), p)
	if deleted := s.lost(mine, write); deleted >= 0 {
		s.say("%s's %s was deleted %s.", p, s.node(s.contender(mine)), s.demise(deleted))
	}
	a, b := s.Events[mine].Zxid, s.Events[theirs].Zxid
	switch {
	case a == 0 || b == 0:
		s.lead("%s wrote after a later holder (event %d), and had no token by which the resource "+
			"could refuse the write.", p, s.cite(write))
	case a >= b:
		s.notLower(write, mine, theirs)
	default:
		s.lead("%s's late write (event %d) was not refused, although its fencing token, %d, is "+
			"lower than %s's, %d, which the resource had seen.", p, s.cite(write), a, q, b)
	}
	return true
}

// notLower leads with a late write whose token is not lower than that of a later grant.
func (s *story) notLower(write, mine, theirs int) {
	a, b := s.Events[mine].Zxid, s.Events[theirs].Zxid
	p, q := process(s.Events[mine].Process), process(s.Events[theirs].Process)
	than := fmt.Sprintf("the same as the token of %s's later grant", q)
	if a > b {
		than = fmt.Sprintf("higher than the token of %s's later grant, %d", q, b)
	}
	s.lead("%s's fencing token, %d, is %s: the resource could not refuse %s's late write "+
		"(event %d).", p, a, than, p, s.cite(write))
	s.tokens(mine, theirs)
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
	first, second := mine, theirs
	if theirs < mine {
		first, second = theirs, mine
	}
	s.say("%s was granted the lock at %s, %s at %s.", process(s.Events[first].Process),
		s.at(first), process(s.Events[second].Process), s.at(second))
	s.overwrote(first, second)
	if deleted := s.lost(first, write); deleted >= 0 && deleted < second {
		q := process(s.Events[first].Process)
		late, other := write, other
		if first == theirs {
			late, other = other, write
		}
		a, b := s.Events[first].Zxid, s.Events[second].Zxid
		switch {
		case late < deleted:
		case b > 0 && a >= b:
			s.notLower(late, first, second)
		default:
			s.lead("%s wrote the resource (event %d) after it had lost the lock (event %d), and "+
				"nothing refused the write.", q, s.cite(late), s.cite(deleted))
		}
		s.show(other)
		s.say("In between, %s's %s was deleted %s.", q, s.node(s.contender(first)),
			s.demise(deleted))
	}
	s.lostKeys(s.Events[first].Process, first, second)
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
		with := fmt.Sprintf("the higher token %d", o.Zxid)
		if o.Zxid == e.Zxid {
			with = "the same token"
		}
		s.say("%s was granted the lock at %s with token %d, after %s was granted it at %s with %s.",
			process(e.Process), s.at(grant), e.Zxid, process(o.Process), s.at(i), with)
		s.overwrote(grant, i)
		s.tokens(grant, i)
		return true
	}
	return false
}

// tokens tells where the tokens of two grants come from.
func (s *story) tokens(a, b int) {
	if s.foreign(a) && s.foreign(b) {
		s.say("The tokens are not the ensemble's: in this history, no session has such an id, and "+
			"no transaction such a number. %s's %s was created by transaction %s, %s's %s by "+
			"transaction %s.", process(s.Events[a].Process), s.node(s.contender(a)),
			s.creation(a), process(s.Events[b].Process), s.node(s.contender(b)), s.creation(b))
		return
	}
	s.session(a)
	s.session(b)
}

// creation tells which transaction created the znode of a grant, as "4 (event 9)".
func (s *story) creation(grant int) string {
	created := s.made(grant)
	return fmt.Sprintf("%d %s", s.Events[created].Zxid, s.in(created))
}

// foreign reports whether the token of a grant is no number of a transaction and no id of a session
// of the history, and the creation of the znode by which the process has the lock is known.
func (s *story) foreign(grant int) bool {
	token := s.Events[grant].Zxid
	for i := range s.Events {
		e := &s.Events[i]
		if e.Session == token || e.Zxid == token && e.Kind >= history.Send &&
			e.Kind <= history.Leading {
			return false
		}
	}
	return s.made(grant) >= 0
}

// session tells where the token of a grant comes from, if it is the session or the creation of the
// znode.
func (s *story) session(grant int) {
	e := &s.Events[grant]
	path, created := s.contender(grant), s.made(grant)
	if created < 0 {
		return
	}
	p := process(e.Process)
	switch n := &s.Events[created]; e.Zxid {
	case n.Session:
		if grant == s.v.Event {
			s.lead("%s's lock uses the id of the session as the token (event %d), and the id does "+
				"not rise with each grant.", p, s.cite(grant))
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
