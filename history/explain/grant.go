package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/timeline"
)

// serverMutualExclusion explains a grant while another process held the lock.
func (s *story) serverMutualExclusion() bool {
	grant := s.v.Event
	e := &s.Events[grant]
	holders, holder := s.holders(grant), -1
	names := make([]string, len(holders))
	for n, i := range holders {
		names[n] = process(s.Events[i].Process)
		if !e.Shared() || !s.Events[i].Shared() {
			holder = i
		}
	}
	if holder < 0 {
		return false
	}
	q, path := process(s.Events[holder].Process), s.contender(holder)
	s.say("%s was granted the lock %s while %s held it: %s was granted it %s by %s, which still "+
		"existed, and had not unlocked.", process(e.Process), s.in(grant), q, q, s.in(holder),
		s.node(path))
	if s.v.Evidence.Count > 1 {
		s.say("All %d places were taken, by %s.", s.v.Evidence.Count, strings.Join(names, ", "))
	}
	s.overwrote(grant, holder)
	if path != s.contender(grant) {
		s.behind(holder)
	}
	s.basis(grant, path)
	return true
}

// behind tells that a process was granted the lock by a znode although it had to wait for another,
// older one, and which older znode of its own it had given up.
func (s *story) behind(grant int) {
	e := &s.Events[grant]
	queue := history.QueueAfter(s.Events[:grant])
	n := queue.Granted(e)
	if n < 0 {
		return
	}
	older := queue.Older(n, e, s.v.Evidence.Count)
	if older < 0 {
		return
	}
	own, rival := &queue.Nodes[n], &queue.Nodes[older]
	tell := s.say
	if s.first == "" {
		tell = s.lead
	}
	tell("%s was granted the lock (event %d) although %s of %s, created earlier (event %d), was "+
		"before %s.", process(e.Process), s.cite(grant), s.node(rival.Path),
		process(rival.Process), s.cite(rival.Created), s.node(own.Path))
	for m := range queue.Nodes {
		gone := &queue.Nodes[m]
		if gone.Process == e.Process && gone.Deleted > 0 && gone.Precedes(rival) {
			s.say("%s had given up an earlier place of its own, %s (event %d).",
				process(e.Process), s.node(gone.Path), s.cite(gone.Deleted))
		}
	}
}

// holders returns the grants by which other processes hold the lock just before a grant, in order.
func (s *story) holders(grant int) (grants []int) {
	q := history.QueueAfter(s.Events[:grant])
	own := q.Granted(&s.Events[grant])
	for n := range q.Nodes {
		m := &q.Nodes[n]
		if own >= 0 && m.Held() && m.Holder != s.Events[grant].Process &&
			m.Directory() == q.Nodes[own].Directory() {
			grants = append(grants, s.last(m.Holder, grant, func(e *history.Event) bool {
				return granted(e) && e.Attempt == m.Attempt
			}))
		}
	}
	slices.Sort(grants)
	return grants
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
	s.lostPlace(call, grant)
	s.say("%s's last listing before that showed %s %s.", p, s.children(listing), s.in(listing))
	listed, known := s.Listed(listing)
	if known && own != "" && s.Events[listing].Path+"/"+base(own) == own &&
		!slices.Contains(listed, own) && s.Created(own, listing) >= 0 {
		s.lead("%s took the lock (event %d) although its own %s was not in its last listing "+
			"(event %d).", p, s.cite(grant), s.node(own), s.cite(listing))
	}
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
		s.order(p, rival, own, timeline.Sorted(listed))
		return
	}
	s.say("%s, which that listing showed, still existed: created at %s.", s.node(rival),
		s.at(created))
}

// lostPlace leads with a process that went on with an attempt although the end of a session had
// deleted another znode of that attempt, which the process still relied on: it asked for it later.
func (s *story) lostPlace(call, grant int) {
	e, own := &s.Events[grant], s.contender(grant)
	for i := call + 1; i < grant; i++ {
		gone := &s.Events[i]
		if gone.Kind != history.NodeDeleted || gone.Path == own || s.SessionEnd(i) < 0 ||
			history.Directory(gone.Path) != history.Directory(own) ||
			s.Events[s.SessionEnd(i)].Kind != history.SessionExpired {
			continue
		}
		created := s.Created(gone.Path, i)
		if created < max(call, 0) || s.Events[created].Process != e.Process {
			continue
		}
		asked := s.next(e.Process, i, func(o *history.Event) bool {
			return o.Kind == history.Send && o.Path == gone.Path
		})
		if asked < 0 || asked > grant {
			continue
		}
		told := ""
		if over := s.next(e.Process, i, func(e *history.Event) bool {
			return e.Kind == history.SessionState && e.Name == "expired"
		}); over >= 0 && over < grant {
			told = fmt.Sprintf(", and its client reported that (event %d)", s.cite(over))
		}
		s.lead("%s went on with its attempt and took the lock (event %d), although its %s of that "+
			"attempt (event %d) was deleted %s%s.", process(e.Process), s.cite(grant),
			s.node(gone.Path), s.cite(created), s.demise(i), told)
		return
	}
}

// assumed leads with a process that was told of a deletion and took the lock, although a rival was
// before its znode, and reports whether that is so.
func (s *story) assumed(number int32, told int, rival, own string) bool {
	e := &s.Events[told]
	if e.Kind != history.WatchEvent || e.Name != "deleted" || !before(rival, own) ||
		s.v.Evidence.Count > 1 { // of several places
		return false
	}
	s.lead("%s was told that %s was deleted (event %d) and assumed that nobody was before %s, but "+
		"%s was.", process(number), s.node(e.Path), s.cite(told), s.node(own), s.node(rival))
	return true
}

// unlisted tells what a process did before it took the lock, when it listed no contenders.
func (s *story) unlisted(call, grant int) {
	p := process(s.Events[grant].Process)
	if s.unrequested(call, grant) {
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
	if !s.unrequested(call, grant) || earlier < 0 ||
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
func (s *story) order(owner, rival, own string, sorted []string) {
	if !before(rival, own) {
		return
	}
	if own < rival && slices.Min(sorted) == own {
		s.lead("%s's %s is the first of the queue only by the order of the whole names: by the "+
			"numbers at their ends, %s is before it.", owner, s.node(own), s.node(rival))
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
	if s.deadGrant(grant) {
		return true
	}
	path := s.contender(grant)
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
		s.unasked(i, grant)
		s.say("%s was granted the lock %s although %s had been granted it %s and had not "+
			"unlocked.", process(e.Process), s.in(grant), q, s.in(i))
		s.overwrote(grant, i)
		if deleted := s.lost(i, grant); deleted >= 0 {
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

// unasked leads with a grant for which the process has sent no request in its attempt, if that is
// so, beside the grant of another process.
func (s *story) unasked(grant, other int) {
	e := &s.Events[grant]
	if s.unrequested(s.last(e.Process, grant, of(history.LockCall)), grant) {
		s.lead("%s was granted the lock (event %d) without a request to the servers, and %s was "+
			"granted it too (event %d).", process(e.Process), s.cite(grant),
			process(s.Events[other].Process), s.cite(other))
	}
}

// unrequested reports whether a process has sent no request between its call of Lock and the grant,
// in a history that shows its requests.
func (s *story) unrequested(call, grant int) bool {
	number, request := s.Events[grant].Process, of(history.Send, history.Command)
	sent := s.next(number, call, request)
	return call >= 0 && (sent < 0 || sent > grant) && s.next(number, -1, request) >= 0
}

// operation names the operation that the event of the violation completes.
func (s *story) operation() string {
	if granted(&s.Events[s.v.Event]) {
		return "acquire"
	}
	return "release"
}

// deadGrant explains a grant by a znode that was deleted before, and reports whether it is one.
func (s *story) deadGrant(grant int) bool {
	deleted, path := s.gone(grant, grant), s.contender(grant)
	if deleted < 0 {
		return false
	}
	p := process(s.Events[grant].Process)
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
		return true
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
	return true
}

// fifo explains a grant while an older contender waited.
func (s *story) fifo() bool {
	grant := s.v.Event
	e := &s.Events[grant]
	queue := history.QueueAfter(s.Events[:grant])
	n := queue.Granted(e)
	if n < 0 {
		return false
	}
	older := queue.Older(n, e, 0)
	if older < 0 {
		return s.overtookHolder(queue, n)
	}
	own, rival := &queue.Nodes[n], &queue.Nodes[older]
	q := process(rival.Process)
	s.say("%s was granted the lock %s by %s while %s, which had queued earlier, was still "+
		"waiting: %s's %s was created at %s, %s at %s.", process(e.Process), s.in(grant),
		s.node(own.Path), q, q, s.node(rival.Path), s.at(rival.Created), s.node(own.Path),
		s.at(own.Created))
	s.basis(grant, rival.Path)
	return true
}

// overtookHolder explains a grant by a deleted znode while a process held the lock by an older one.
func (s *story) overtookHolder(queue *history.Queue, n int) bool {
	own := &queue.Nodes[n]
	older := slices.IndexFunc(queue.Nodes, func(o history.QueueNode) bool {
		return o.Path == s.v.Evidence.Path && o.Held()
	})
	if older < 0 || own.Deleted == 0 {
		return false
	}
	holder := &queue.Nodes[older]
	p, q := process(s.Events[s.v.Event].Process), process(holder.Process)
	s.lead("%s took the lock (event %d) by %s, which had been deleted %s, while %s held the lock "+
		"by %s (event %d).", p, s.cite(s.v.Event), s.node(own.Path), s.demise(own.Deleted), q,
		s.node(holder.Path), s.cite(holder.Created))
	s.say("%s had created %s before %s created %s (event %d).", q, s.node(holder.Path), p,
		s.node(own.Path), s.cite(own.Created))
	s.basis(s.v.Event, holder.Path)
	return true
}
