package explain

import (
	"slices"
	"strings"

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
	s.full(s.holders(grant))
	s.overwrote(grant, holder)
	s.basis(grant, path)
	return true
}

// full tells which processes took all places of a lock that has several.
func (s *story) full(holders []string) {
	if s.v.Evidence.Count > 1 {
		s.say("All %d places were taken, by %s.", s.v.Evidence.Count, strings.Join(holders, ", "))
	}
}

// holders returns the processes other than that of a grant that hold the lock just before it.
func (s *story) holders(grant int) (names []string) {
	for i := range s.Events[:grant] {
		if e := &s.Events[i]; granted(e) && e.Process != s.Events[grant].Process &&
			s.holds(i, grant) {
			names = append(names, process(e.Process))
		}
	}
	return names
}

// holds reports whether the grant of event i lasts at the servers until just before an event.
func (s *story) holds(i, before int) bool {
	released := s.next(s.Events[i].Process, i, of(history.UnlockCall))
	path := s.contender(i)
	return (released < 0 || released > before) && path != "" && s.Live(path, before)
}

// holder returns the grant by which another process holds the lock just before an event: its znode
// exists, and it has not called Unlock. It returns -1 if there is none.
func (s *story) holder(before int) int {
	for i := before - 1; i >= 0; i-- {
		e := &s.Events[i]
		if granted(e) && e.Process != s.Events[before].Process &&
			!(e.Shared() && s.Events[before].Shared()) && s.holds(i, before) {
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
	assumed := known && len(inputs) > 0 && slices.Contains(listed, rival) &&
		s.assumed(e.Process, inputs[len(inputs)-1], rival, own)
	switch {
	case assumed:
		s.show(s.Created(rival, grant))
		told := "it"
		if earlier := s.learned(e.Process, listing, inputs[len(inputs)-1]); earlier != "" {
			told = "it " + earlier + ", and"
		}
		s.say("Then %s took the lock without listing again after that deletion.", told)
		return
	case len(inputs) > 0:
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
	s.say("%s, which that listing showed, still existed: created at %s.", s.node(rival),
		s.at(created))
}

// assumed leads with a process that was told of a deletion and took the lock, although a rival was
// before its znode, and reports whether that is so.
func (s *story) assumed(number int32, told int, rival, own string) bool {
	e := &s.Events[told]
	if e.Kind != history.WatchEvent || e.Name != "deleted" || !before(rival, own) {
		return false
	}
	s.lead("%s was told that %s was deleted (event %d) and assumed that nobody was before %s, but "+
		"%s was.", process(number), s.node(e.Path), s.cite(told), s.node(own), s.node(rival))
	return true
}

// unlisted tells what a process did before it took the lock, when it listed no contenders.
func (s *story) unlisted(call, grant int) {
	p := process(s.Events[grant].Process)
	sent := s.next(s.Events[grant].Process, call, of(history.Send))
	if call >= 0 && (sent < 0 || sent > grant) {
		if !s.again(call, grant) {
			s.say("%s sent no request between the call of Lock (event %d) and its return (event "+
				"%d).", p, s.cite(call), s.cite(grant))
		}
		if unlock := s.last(s.Events[grant].Process, call, of(history.UnlockReturn)); unlock >= 0 &&
			s.Events[unlock].Err != "" {
			s.say("%s's Unlock before that had failed (event %d: %s).", p, s.cite(unlock),
				s.Events[unlock].Err)
		}
		return
	}
	if told := s.learned(s.Events[grant].Process, call, grant); told != "" {
		s.say("Since it asked for the lock, %s only %s; it did not list the contenders.", p, told)
	}
}

// again leads with a Lock that sent no request and returned the grant of an earlier attempt, and
// reports whether that is so.
func (s *story) again(call, grant int) bool {
	number := s.Events[grant].Process
	earlier := s.last(number, call, granted)
	sent := s.next(number, call, of(history.Send))
	if call < 0 || sent >= 0 && sent < grant || earlier < 0 ||
		s.contender(earlier) != s.contender(grant) {
		return false
	}
	p := process(number)
	s.lead("%s's Lock returned with %s (event %d), the node of its earlier grant (event %d), "+
		"without asking the ensemble: %s sent no request between the call of Lock (event %d) and "+
		"its return.", p, s.node(s.contender(grant)), s.cite(grant), s.cite(earlier), p,
		s.cite(call))
	return true
}

// order compares the position of two znodes of a listing by number, by creation and by name.
func (s *story) order(rival, own string, sorted []string) {
	if !before(rival, own) {
		return
	}
	if own < rival && slices.Min(sorted) == own {
		s.lead("%s's %s is the first of the queue only by the order of the whole names: by the "+
			"numbers at their ends, %s is before it.", process(s.Events[s.v.Event].Process),
			s.node(own), s.node(rival))
		s.show(s.Created(rival, s.v.Event), s.Created(own, s.v.Event))
		s.say("%s sorts before %s.", base(own), base(rival))
		return
	}
	s.say("By their numbers %s comes before %s, and it was created earlier (events %d and %d).",
		s.node(rival), s.node(own), s.cite(s.Created(rival, s.v.Event)),
		s.cite(s.Created(own, s.v.Event)))
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
		if !granted(o) || o.Process == e.Process || released >= 0 && released < grant ||
			o.Shared() && e.Shared() {
			continue
		}
		q := process(o.Process)
		call := s.last(o.Process, i, of(history.LockCall))
		if sent := s.next(o.Process, call, of(history.Send)); call >= 0 && (sent < 0 || sent > i) {
			s.lead("%s was granted the lock (event %d) without a request to the servers, and %s "+
				"was granted it too (event %d).", q, s.cite(i), process(e.Process), s.cite(grant))
		}
		s.say("%s was granted the lock %s although %s had been granted it %s and had not "+
			"unlocked.", process(e.Process), s.in(grant), q, s.in(i))
		s.overwrote(grant, i)
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
	call := s.last(s.Events[grant].Process, grant, of(history.LockCall))
	listing := s.lastListing(s.Events[grant].Process, call, grant)
	told := false // by the first sentence
	if listing < 0 {
		told = s.again(call, grant)
	} else if listed, known := s.Listed(listing); known && !slices.Contains(listed, path) {
		s.lead("%s took the lock (event %d) although its own %s was not in its last listing "+
			"(event %d), which showed %s.", p, s.cite(grant), s.node(path), s.cite(listing),
			s.children(listing))
		told = true
	}
	if told {
		s.say("%s did not exist any more: it was deleted %s.", s.node(path),
			s.demise(deleted))
	} else {
		s.say("%s was granted the lock %s by %s, which did not exist any more: it was deleted %s.",
			p, s.in(grant), s.node(path), s.demise(deleted))
	}
	if listing < 0 {
		s.unlisted(call, grant)
		return
	}
	if !told {
		s.say("%s's last listing before the grant showed %s %s.", p, s.children(listing),
			s.in(listing))
	}
	if over := s.next(s.Events[grant].Process, deleted, func(e *history.Event) bool {
		return e.Kind == history.SessionState && e.Name == "expired" ||
			e.Kind == history.WatchEvent && e.Watch == 0
	}); over >= 0 && over < grant {
		s.say("Its client had reported the end of the session at %s.", s.at(over))
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
			s.waits(n.Process, grant) && !(e.Shared() && s.shares(n.Process, grant)) {
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

// shares reports whether the last call of Lock of a process before an event is in shared mode.
func (s *story) shares(process int32, before int) bool {
	i := s.last(process, before, of(history.LockCall))
	return i >= 0 && s.Events[i].Shared()
}

// waits reports whether a process has called Lock, which has not returned before an event.
func (s *story) waits(process int32, before int) bool {
	i := s.last(process, before, of(history.LockCall, history.LockReturn))
	return i >= 0 && s.Events[i].Kind == history.LockCall
}
