package explain

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/timeline"
)

// serverMutualExclusion explains a grant while another process held the lock.
func (s *story) serverMutualExclusion() bool {
	grant := s.v.Event
	e := &s.Events[grant]
	holder := s.holder(grant)
	if !granted(e) || holder < 0 {
		return false
	}
	q, path := process(s.Events[holder].Process), s.contender(holder)
	s.say("%s was granted the lock %s while %s held it: %s was granted it %s by %s, which still "+
		"existed, and had not unlocked.", process(e.Process), s.in(grant), q, q, s.in(holder),
		s.node(path))
	s.basis(grant, path)
	return true
}

// holder returns the grant by which another process holds the lock just before an event: its znode
// exists, and it has not called Unlock. It returns -1 if there is none.
func (s *story) holder(before int) int {
	for i := before - 1; i >= 0; i-- {
		e := &s.Events[i]
		if !granted(e) || e.Process == s.Events[before].Process {
			continue
		}
		released := s.next(e.Process, i, of(history.UnlockCall))
		path := s.contender(i)
		if (released < 0 || released > before) && path != "" && s.Live(path, before) {
			return i
		}
	}
	return -1
}

// basis tells what a process relied on when it took the lock, although the znode of a rival, which
// may be "", had precedence.
func (s *story) basis(grant int, rival string) {
	e := &s.Events[grant]
	p, own := process(e.Process), s.contender(grant)
	call := s.last(e.Process, grant, of(history.LockCall))
	listing := s.lastListing(e.Process, call, grant)
	if listing < 0 {
		s.unlisted(call, grant)
		return
	}
	s.say("%s's last listing before that showed %s %s.", p, s.children(listing), s.in(listing))
	listed, known := s.Listed(listing)
	inputs := s.inputs(e.Process, listing, grant)
	if len(inputs) > 0 {
		if told := s.learned(e.Process, listing, grant); told != "" {
			s.say("Then it %s, and took the lock without listing again.", told)
		} else {
			s.say("After %d further replies and events it took the lock without listing again.",
				len(inputs))
		}
	}
	if !known || rival == "" {
		return
	}
	created := s.Created(rival, grant)
	if !slices.Contains(listed, rival) {
		if created > listing {
			s.say("%s was created after that listing %s.", s.node(rival), s.in(created))
		}
		return
	}
	if len(inputs) == 0 {
		s.order(rival, own, timeline.Sorted(listed))
		return
	}
	last := &s.Events[inputs[len(inputs)-1]]
	if last.Kind == history.WatchEvent && last.Name == "deleted" && before(rival, own) {
		s.lead("%s took %q (event %d) for \"nobody is before %s\", although %s was.", p,
			s.node(last.Path)+" deleted", s.cite(inputs[len(inputs)-1]), s.node(own),
			s.node(rival))
		s.say("But %s, before %s in that listing, still stood: created at %s, listed by %s at %s.",
			s.node(rival), s.node(own), s.at(created), p, s.at(listing))
		return
	}
	s.say("%s, which that listing showed, still stood: created at %s.", s.node(rival),
		s.at(created))
}

// unlisted tells what a process did before it took the lock, when it listed no contenders.
func (s *story) unlisted(call, grant int) {
	p := process(s.Events[grant].Process)
	sent := s.next(s.Events[grant].Process, call, of(history.Send))
	if call >= 0 && (sent < 0 || sent > grant) {
		s.say("It had asked for the lock at %s, and its code returned without sending a request.",
			s.at(call))
		if unlock := s.last(s.Events[grant].Process, call, of(history.UnlockReturn)); unlock >= 0 &&
			s.Events[unlock].Err != "" {
			earlier := s.last(s.Events[grant].Process, unlock, granted)
			s.say("Its Unlock before that had failed (event %d: %s)", s.cite(unlock),
				s.Events[unlock].Err)
			if earlier >= 0 && s.contender(earlier) == s.contender(grant) {
				s.lead("%s's Lock handed out its grant of event %d again (event %d), without "+
					"asking the ensemble.", p, s.cite(earlier), s.cite(grant))
				s.text.WriteString(", and the grant is by the node of the attempt before, " +
					"granted at " + s.at(earlier))
			}
			s.text.WriteByte('.')
		}
		return
	}
	if told := s.learned(s.Events[grant].Process, call, grant); told != "" {
		s.say("Since it asked for the lock, %s only %s; it did not list the contenders.", p, told)
	}
}

// order compares the position of two znodes of a listing by number, by creation and by name.
func (s *story) order(rival, own string, sorted []string) {
	if !before(rival, own) {
		return
	}
	a, b := s.Created(rival, s.v.Event), s.Created(own, s.v.Event)
	s.say("By their numbers %s comes before %s, and it was created earlier (events %d and %d).",
		s.node(rival), s.node(own), s.cite(a), s.cite(b))
	if own < rival && slices.Min(sorted) == own {
		s.lead("%s took its %s for the first of the queue because it sorts first by its whole "+
			"name, although %s has the lower number.", process(s.Events[s.v.Event].Process),
			s.node(own), s.node(rival))
		s.say("Only in the order of the whole names is %s the first of that listing: %s sorts "+
			"before %s.", s.node(own), base(own), base(rival))
	}
}

// linearizable explains an operation that no order of the operations allows.
func (s *story) linearizable() bool {
	for _, v := range s.before {
		if v.Event == s.v.Event {
			s.say("The same event breaks this property: no order of the acquires and releases so "+
				"far lets %s %s the lock here.", process(s.v.Evidence.Process), s.operation())
			s.show(s.v.Event)
			return true
		}
	}
	e := &s.Events[s.v.Event]
	if !granted(e) {
		return false
	}
	grant := s.v.Event
	path := s.contender(grant)
	if path != "" && s.Created(path, grant) >= 0 && !s.Live(path, grant) {
		s.deadGrant(grant, path)
		return true
	}
	if i := s.last(e.Process, grant, granted); i >= 0 && path != "" && s.contender(i) == path {
		s.say("%s was granted the lock %s by %s, the node of its earlier grant %s, which its "+
			"Unlock in between did not delete.", process(e.Process), s.in(grant), s.node(path),
			s.in(i))
		return true
	}
	for i := grant - 1; i >= 0; i-- {
		o := &s.Events[i]
		released := s.next(o.Process, i, of(history.UnlockCall))
		if !granted(o) || o.Process == e.Process || released >= 0 && released < grant {
			continue
		}
		q := process(o.Process)
		s.say("%s was granted the lock %s although %s had been granted it %s and had not "+
			"unlocked.", process(e.Process), s.in(grant), q, s.in(i))
		if deleted := s.gone(i, grant); deleted >= 0 {
			when := "after"
			if deleted < i {
				when = "even before"
			}
			s.say("The %s by which %s had the lock was deleted %s %s that.",
				s.node(s.contender(i)), q, s.demise(deleted), when)
		}
		return true
	}
	return false
}

// operation names the operation that the event of the violation completes.
func (s *story) operation() string {
	if granted(&s.Events[s.v.Event]) {
		return "acquire"
	}
	return "release"
}

// deadGrant explains a grant by a znode that was deleted before.
func (s *story) deadGrant(grant int, path string) {
	p := process(s.Events[grant].Process)
	deleted := s.LastChange(path, grant)
	s.say("%s was granted the lock %s by %s, which did not exist any more: it was deleted %s.", p,
		s.in(grant), s.node(path), s.demise(deleted))
	call := s.last(s.Events[grant].Process, grant, of(history.LockCall))
	listing := s.lastListing(s.Events[grant].Process, call, grant)
	if listing < 0 {
		s.unlisted(call, grant)
		return
	}
	s.say("%s's last listing before the grant showed %s %s.", p, s.children(listing),
		s.in(listing))
	if listed, known := s.Listed(listing); known && !slices.Contains(listed, path) {
		s.lead("%s took the lock (event %d) although its own %s was not in the listing by which "+
			"it did so (event %d).", p, s.cite(grant), s.node(path), s.cite(listing))
	}
	if told := s.next(s.Events[grant].Process, deleted, func(e *history.Event) bool {
		return e.Kind == history.SessionState && e.Name == "expired" ||
			e.Kind == history.WatchEvent && e.Watch == 0
	}); told >= 0 && told < grant {
		s.say("Its client had reported the end of the session at %s.", s.at(told))
	}
}

// fifo explains a grant while an older contender waited.
func (s *story) fifo() bool {
	grant := s.v.Event
	e := &s.Events[grant]
	own := s.contender(grant)
	if !granted(e) || own == "" {
		return false
	}
	born := s.Created(own, grant)
	rival, created := "", len(s.Events)
	for i := range s.Events[:grant] {
		n := &s.Events[i]
		if n.Kind == history.NodeCreated && n.Process != e.Process && i < created && i < born &&
			s.Live(n.Path, grant) && s.queued(n.Process, grant) == n.Path &&
			s.waits(n.Process, grant) {
			rival, created = n.Path, i
		}
	}
	if rival == "" {
		return false
	}
	q := process(s.Events[created].Process)
	s.say("%s was granted the lock %s by %s while %s, which had queued earlier, was still "+
		"waiting: %s's %s was created at %s, %s at %s.", process(e.Process), s.in(grant),
		s.node(own), q, q, s.node(rival), s.at(created), s.node(own), s.at(born))
	s.basis(grant, rival)
	return true
}

// waits reports whether a process has called Lock, which has not returned before an event.
func (s *story) waits(process int32, before int) bool {
	i := s.last(process, before, of(history.LockCall, history.LockReturn))
	return i >= 0 && s.Events[i].Kind == history.LockCall
}
