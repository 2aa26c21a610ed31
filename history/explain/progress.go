package explain

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/cause"
)

// progress explains a call that never returned.
func (s *story) progress() bool {
	call := s.v.Event
	e := &s.Events[call]
	p := process(e.Process)
	what := "Lock"
	switch e.Kind {
	case history.UnlockReturn:
		return s.unlocked()
	case history.UnlockCall:
		what = "Unlock"
	case history.LockCall:
	default:
		return false
	}
	if s.panicked(e.Process) {
		s.say("%s called %s %s, and the call never returned, because %s panicked.", p, what,
			s.in(call), p)
		return true
	}
	s.say("%s called %s %s, and was still waiting when the history ended.", p, what, s.in(call))
	if s.waitsForResult(e.Process, call) {
		s.blocked(e.Process)
		return true
	}
	if s.waitsForKey(e.Process, call) {
		return true
	}
	if !s.waitsFor(e.Process, map[int32]bool{}) {
		inputs := s.inputs(e.Process, call, len(s.Events))
		if sends := s.stillSends(e.Process, call); sends != "" {
			s.lead("%s sends requests until the history ends, and its %s never returns.", p, what)
			s.say("%s", sends)
			if len(inputs) > 0 {
				s.say("Last it %s.", s.input(inputs[len(inputs)-1]))
			}
		} else if len(inputs) == 0 {
			s.say("Nothing has reached it since.")
		} else {
			s.lead("%s waits for ever in %s, without a request or a watch that could wake it.", p,
				what)
			s.say("Last it %s. Since then it has sent no request, and has no watch pending.",
				s.input(inputs[len(inputs)-1]))
		}
	}
	s.blocked(e.Process)
	return true
}

// waitsFor tells what a process waits for at the end of the history: a reply, or a watch. It
// returns false if there is neither.
func (s *story) waitsFor(p int32, told map[int32]bool) bool {
	told[p] = true
	if r := s.unanswered(p); r != nil {
		s.lead("%s waits for ever for the reply to %s (event %d).", process(p), s.asked(r),
			s.cite(r.Send))
		s.say("It waits for the reply to %s, sent at %s.", s.asked(r), s.at(r.Send))
		return true
	}
	if w := s.pendingWatch(p); w != nil {
		s.watched(p, w, told)
		return true
	}
	return s.endedWatch(p)
}

// unanswered returns the last request of a process if it has no reply, or nil.
func (s *story) unanswered(p int32) *cause.Request {
	requests := s.Requests()
	for n := len(requests) - 1; n >= 0; n-- {
		r := requests[n]
		if r.Process != p || r.Op == "connect" || r.Op == "set-watches" {
			continue
		}
		if r.Reply >= 0 || !s.timePasses(r.Send) {
			return nil // A request at the very end may be one of a goroutine that polls.
		}
		return r
	}
	return nil
}

// timePasses reports whether time passes after an event.
func (s *story) timePasses(after int) bool {
	return s.Events[len(s.Events)-1].At > s.Events[after].At+pollingMax
}

// pollingMax is the time within which a reply may still come at the end of a history.
const pollingMax = 10 * time.Second

// pendingWatch returns the last watch that a process has set by a request, if its event has never
// been delivered and the client has not reported its end, or nil.
func (s *story) pendingWatch(p int32) *cause.Watch {
	var found *cause.Watch
	for _, r := range s.Requests() {
		if r.Process == p && r.Watch != nil {
			found = r.Watch
		}
	}
	if found == nil || found.Event >= 0 {
		return nil
	}
	ended := s.last(p, len(s.Events), func(e *history.Event) bool {
		return e.Kind == history.WatchEvent && e.Path == found.Path
	})
	if ended > found.Armed {
		return nil
	}
	return found
}

// watched tells for what a process waits by a watch, and why that does not happen.
func (s *story) watched(p int32, w *cause.Watch, told map[int32]bool) {
	r := s.Request(w.Armed)
	reply := w.Armed
	if r != nil && r.Reply >= 0 {
		reply = r.Reply
	}
	znode := s.node(w.Path)
	created := s.Created(w.Path, len(s.Events))
	change := s.LastChange(w.Path, w.Armed)
	live := s.Live(w.Path, len(s.Events)-1)
	switch {
	case w.Kind == "exist" && change >= 0:
		if reply != w.Armed && s.Events[reply].Err == "no node" {
			s.lead("%s was told that %s did not exist (event %d), and still waits for its watch "+
				"on %s: such a watch reports only the creation of the node, and nothing creates "+
				"%s again.", process(p), znode, s.cite(reply), znode, znode)
		} else {
			s.lead("%s waits for ever for its watch on %s, which did not exist any more when it "+
				"set the watch (event %d): such a watch reports only the creation of the node, "+
				"and nothing creates %s again.", process(p), znode, s.cite(w.Armed), znode)
		}
		s.say("%s had been deleted %s before the server set watch %d (event %d).", znode,
			s.demise(change), w.Number, s.cite(w.Armed))
		if listing := s.lastListing(p, -1, r.Send); listing >= 0 && listing < change {
			s.say("%s's last listing, from before the deletion, still showed %s %s.", process(p),
				znode, s.in(listing))
		}
	case w.Kind == "exist":
		s.lead("%s waits for ever for the creation of %s (event %d).", process(p), znode,
			s.cite(reply))
		s.say("It has set watch %d to hear of the creation, and nobody creates %s.", w.Number,
			znode)
	case live && created >= 0 && w.Kind == "data":
		s.say("It waits for the deletion of %s, on which it set watch %d (event %d).", znode,
			w.Number, s.cite(reply))
		s.kept(p, w.Path, created, told)
	default:
		s.silent(w, reply)
	}
}

// kept tells why a znode that exists at the end is never deleted.
func (s *story) kept(waiter int32, path string, created int, told map[int32]bool) {
	owner := s.Events[created].Process
	q, znode := process(owner), s.node(path)
	s.held = process(waiter) + " waits for ever for its deletion"
	owned := "%s is " + q + "'s, created at %s."
	if owner == waiter {
		owned = "But %s is its own node, created at %s."
	}
	if own := s.queued(owner); own != "" && own != path &&
		s.last(owner, len(s.Events), of(history.LockCall)) < created {
		led, whom := false, "itself"
		if owner != waiter {
			whom = fmt.Sprintf("%s, a node that %s does not know of", znode, q)
		}
		if r := s.Request(created); r != nil && r.Reply >= 0 && s.Events[r.Reply].Err != "" {
			without := ""
			if again := s.Created(own, len(s.Events)); again >= 0 &&
				s.lastListing(owner, r.Reply, again) < 0 {
				without = " without looking for that one"
			}
			led = s.first == ""
			s.lead("%s waits for ever for %s: the reply to %s's create of %s was lost (event %d), "+
				"and %s created another node%s.", process(waiter), whom, q, znode,
				s.cite(r.Reply), q, without)
		}
		s.say(owned, znode, s.at(created))
		s.duplicate(created, own, led)
		switch {
		case owner == waiter && led: // The first sentence has told it.
		case owner == waiter:
			s.say("Now %s waits for itself.", q)
		case told[owner]:
			s.say("%s waits, as told above: they wait for each other.", q)
		}
		return
	}
	if owner == waiter && told[owner] && s.attemptEnd(owner, created) < 0 {
		s.lead("%s waits for ever for the deletion of %s (event %d), the node by which it is "+
			"itself in the queue.", q, znode, s.cite(created))
		return
	}
	if end := s.attemptEnd(owner, created); s.first != "" || end < 0 ||
		s.Events[end].Kind == history.Crashed {
		s.say(owned, znode, s.at(created))
	}
	if s.abandoned(owner, path, created) || !s.waits(owner, len(s.Events)) {
		return
	}
	if told[owner] {
		s.say("%s waits, as told above: they wait for each other.", q)
		return
	}
	if s.panicked(owner) {
		s.say("%s panicked.", q)
		return
	}
	s.say("%s waits as well.", q)
	if s.waitsFor(owner, told) {
		return
	}
	call := s.last(owner, len(s.Events), of(history.LockCall))
	s.say("%s", cmp.Or(s.stillSends(owner, call), "It has no request and no watch pending."))
}

// panicked reports whether a violation is that a process panicked.
func (s *story) panicked(p int32) bool {
	return slices.ContainsFunc(s.all, func(v *history.Violation) bool {
		return v.Property == noPanic && v.Evidence.Process == p
	})
}

// duplicate tells of a znode that a process has created beside the one by which it is in the queue.
// The first sentence may have told that a reply was lost.
func (s *story) duplicate(created int, own string, led bool) {
	q := process(s.Events[created].Process)
	if r := s.Request(created); !led && r != nil && r.Reply >= 0 && s.Events[r.Reply].Err != "" {
		s.say("The reply that would have told %s so was lost (event %d: %s).", q, s.cite(r.Reply),
			s.Events[r.Reply].Err)
	}
	switch again := s.Created(own, len(s.Events)); {
	case own == "":
	case led:
		s.say("The other node is %s (event %d).", s.node(own), s.cite(again))
	default:
		s.say("%s created %s as well (event %d).", q, s.node(own), s.cite(again))
	}
}

// abandoned tells how the creator of a znode that exists at the end has ended its interest in it,
// and reports whether it has.
func (s *story) abandoned(owner int32, path string, created int) bool {
	q, znode := process(owner), s.node(path)
	end := s.attemptEnd(owner, created)
	if end < 0 {
		if grant := s.next(owner, created, granted); grant >= 0 {
			s.say("%s was granted the lock %s, and has not released it.", q, s.in(grant))
		}
		return false
	}
	sent := s.deletions(owner, path, created)
	led := s.Events[end].Kind != history.Crashed && s.blame(owner, path, created, end, sent)
	switch e := &s.Events[end]; {
	case led && len(sent) == 0: // The first sentence tells all.
	case e.Kind == history.Crashed && s.first == "" && s.held != "" &&
		s.Events[created].Session == 0:
		s.lead("%s crashed (event %d) and left %s (event %d) behind, which is not "+
			"ephemeral: %s.", q, s.cite(end), znode, s.cite(created), s.held)
	case e.Kind == history.Crashed:
		s.say("%s crashed at %s.", q, s.at(end))
	case e.Kind == history.LockReturn:
		s.say("%s's Lock failed at %s (%s).", q, s.at(end), e.Err)
	case e.Err != "":
		s.say("%s's Unlock failed at %s (%s).", q, s.at(end), e.Err)
	default:
		s.say("%s's Unlock returned at %s, without an error.", q, s.at(end))
	}
	if !led {
		s.deletes(znode, sent)
	}
	return true
}

// attemptEnd returns how the attempt of a process that created a znode has ended: the return of
// Unlock, the return of a Lock that failed, or a crash. It returns -1 if the attempt has not ended.
func (s *story) attemptEnd(owner int32, created int) int {
	return s.next(owner, created, func(e *history.Event) bool {
		return e.Kind == history.LockReturn && e.Err != "" || e.Kind == history.UnlockReturn ||
			e.Kind == history.Crashed
	})
}

// blame leads with what the code did wrong that left a znode behind: it has sent no request to
// delete the znode, or has not repeated one that failed. It reports whether it has set the first
// sentence.
func (s *story) blame(owner int32, path string, created, end int, sent []*cause.Request) bool {
	if s.first != "" {
		return false
	}
	q, znode, held := process(owner), s.node(path), "."
	if s.held != "" {
		held = ", and " + s.held + "."
	}
	call := fmt.Sprintf("Unlock returned (event %d)", s.cite(end))
	if e := &s.Events[end]; e.Kind == history.LockReturn {
		call = fmt.Sprintf("Lock failed (event %d: %s)", end, e.Err)
	} else if e.Err != "" {
		call = fmt.Sprintf("Unlock failed (event %d: %s)", end, e.Err)
	}
	if len(sent) == 0 {
		s.lead("%s's %s and left %s (event %d) behind: %s%s", q, call, znode, s.cite(created),
			s.unsought(created, end), held)
		return true
	}
	last := sent[len(sent)-1]
	if last.Reply >= 0 && s.Events[last.Reply].Err == "" {
		return false
	}
	which := fmt.Sprintf("%s's delete of %s", q, znode)
	if len(sent) > 1 {
		which = fmt.Sprintf("The last of %s's %d deletes of %s", q, len(sent), znode)
	}
	how := fmt.Sprintf("got no reply (sent at event %d)", s.cite(last.Send))
	switch {
	case last.Serve < 0 && last.Reply >= 0:
		how = fmt.Sprintf("never reached a server (event %d)", s.cite(last.Reply))
	case last.Serve < 0:
		how = fmt.Sprintf("never reached a server (sent at event %d)", last.Send)
	case last.Reply >= 0:
		how = fmt.Sprintf("failed (event %d: %s)", s.cite(last.Reply), s.Events[last.Reply].Err)
	}
	s.show(created)
	s.lead("%s %s, and %s never repeated it%s", which, how, q, held)
	return true
}

// unsought tells why the creator of a znode, which never asked to delete it, left it behind: it did
// not know the name, or did.
func (s *story) unsought(created, end int) string {
	q := process(s.Events[created].Process)
	r := s.Request(created)
	if r == nil || r.Reply < 0 || s.Events[r.Reply].Err == "" {
		return fmt.Sprintf("%s never sent a request to delete it%s%s", q,
			s.nameGiven(created, end), s.offline(r, end))
	}
	if r.Path == s.Events[created].Path {
		return fmt.Sprintf("%s did not know whether it was created (event %d: %s), and never "+
			"sent a request to delete it", q, s.cite(r.Reply), s.Events[r.Reply].Err)
	}
	lost := fmt.Sprintf("no reply told %s its name (event %d: %s)", q, s.cite(r.Reply),
		s.Events[r.Reply].Err)
	looked := false
	for i := r.Reply; i < len(s.Events); i++ {
		if !s.lists(i, r.Process) {
			continue
		}
		looked = true
		reader, path := process(s.Events[i].Process), s.Events[created].Path
		if slices.Contains(s.Missed(i), path) {
			return fmt.Sprintf("%s, and %s looked for it (event %d) at a server that had not "+
				"applied its creation yet", lost, reader, s.cite(i))
		}
		if listed, _ := s.Listed(i); slices.Contains(listed, path) {
			return fmt.Sprintf("%s, but %s listed it later (event %d), and never sent a request "+
				"to delete it", lost, reader, s.cite(i))
		}
	}
	if looked {
		return fmt.Sprintf("%s, and %s never sent a request to delete it", lost, q)
	}
	return fmt.Sprintf("%s, and %s never looked for it", lost, q)
}

// lists reports whether an event is the reply to a listing by a process or another of its threads.
func (s *story) lists(reply int, number int32) bool {
	r := s.Request(reply)
	if r == nil || s.Events[reply].Kind != history.Reply || !cause.Listing(r.Op) {
		return false
	}
	p, _ := history.ProcessOf(r.Process)
	q, _ := history.ProcessOf(number)
	return p == q
}

// offline says that the client of the process of a request had no connection at an event.
func (s *story) offline(r *cause.Request, end int) string {
	if r == nil || s.lastState(r.Process, end, "disconnected") <=
		s.lastState(r.Process, end, "has-session") {
		return ""
	}
	return ", while its client had no connection"
}

// nameGiven tells which reply had given a process the name of its znode before an event, or returns
// "". A delete of an empty path, by which code that has lost the name may clean up, sends nothing.
func (s *story) nameGiven(created, before int) string {
	r := s.Request(created)
	if r == nil || r.Op != "create" || r.Reply < 0 || r.Reply > before ||
		s.Events[r.Reply].Err != "" {
		return ""
	}
	line := ""
	if f := s.Events[r.Send].Facts; f != nil && f.Line != "" {
		line = ", sent at " + base(f.Line) + ","
	}
	return fmt.Sprintf(", although its create%s had returned the name (event %d)", line,
		s.cite(r.Reply))
}

// deletions returns the requests to delete a znode that its creator has sent.
func (s *story) deletions(owner int32, path string, created int) (sent []*cause.Request) {
	for _, r := range s.Requests() {
		if r.Process == owner && r.Send > created && s.asksToDelete(r, path) {
			sent = append(sent, r)
		}
	}
	return sent
}

// asksToDelete reports whether a request, possibly a multi, is one to delete a znode.
func (s *story) asksToDelete(r *cause.Request, path string) bool {
	if r.Op == "delete" && r.Path == path {
		return true
	}
	f := s.Events[r.Send].Facts
	return f != nil && slices.ContainsFunc(f.Operations, func(o history.Operation) bool {
		return o.Op == "delete" && o.Path == path
	})
}

// deletes tells which requests to delete a znode its creator has sent.
func (s *story) deletes(znode string, sent []*cause.Request) {
	if len(sent) == 0 {
		s.say("It has never sent a request to delete %s.", znode)
		return
	}
	last := sent[len(sent)-1]
	lead := fmt.Sprintf("Its only request to delete %s, sent", znode)
	if len(sent) > 1 {
		lead = fmt.Sprintf("The last of its %d requests to delete %s, sent", len(sent), znode)
	}
	how := "got no reply"
	if last.Reply >= 0 {
		how = fmt.Sprintf("got %q (event %d)", s.Events[last.Reply].Err, s.cite(last.Reply))
	}
	if last.Serve < 0 {
		how += ", and never reached a server"
	}
	s.say("%s at %s, %s. It did not try again.", lead, s.at(last.Send), how)
}

// endedWatch tells of a process that waits although its client has told it that the watch is over.
func (s *story) endedWatch(p int32) bool {
	told := s.last(p, len(s.Events), func(e *history.Event) bool {
		return e.Kind == history.WatchEvent
	})
	if told < 0 || s.Events[told].Watch != 0 ||
		s.next(p, told, of(history.Send, history.LockReturn)) >= 0 &&
			s.acted(p, told) {
		return false
	}
	e := &s.Events[told]
	s.lead("%s was told that its watch on %s had ended with its session (event %d: %s), and its "+
		"code still waits for an event of that watch.", process(p), s.node(e.Path), s.cite(told),
		e.Err)
	if own := s.last(p, len(s.Events), of(history.LockCall, history.NodeCreated)); own >= 0 {
		if deleted := s.Deleted(s.Events[own].Path, own); deleted >= 0 {
			s.say("Its own %s had been deleted %s.", s.node(s.Events[own].Path), s.demise(deleted))
		}
	}
	s.say("Since then it has sent no request and has no watch: nothing can wake it.")
	return true
}

// acted reports whether the code of a process has sent a request after an event.
func (s *story) acted(p int32, after int) bool {
	return s.next(p, after, func(e *history.Event) bool {
		return e.Kind == history.Send && e.Op != "connect" && e.Op != "set-watches"
	}) >= 0
}
