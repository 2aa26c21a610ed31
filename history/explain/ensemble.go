package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/guarantee"
)

// zookeeperConsistency explains an ensemble that breaks a guarantee of ZooKeeper.
func (s *story) zookeeperConsistency() bool {
	tell := map[string]func(e *history.Event) bool{
		guarantee.ReasonRequestOrder:  s.requestOrder,
		guarantee.ReasonLostCreate:    s.lostCreate,
		guarantee.ReasonReplyOrder:    s.replyOrder,
		guarantee.ReasonOlderState:    s.olderState,
		guarantee.ReasonStaleSync:     s.staleSync,
		guarantee.ReasonCommitOrder:   s.commitOrder,
		guarantee.ReasonAppliedEarly:  s.appliedEarly,
		guarantee.ReasonNoMajority:    s.noMajority,
		guarantee.ReasonApplyOrder:    s.applyOrder,
		guarantee.ReasonEndedSession:  s.endedSession,
		guarantee.ReasonCreatedTwice:  s.createdTwice,
		guarantee.ReasonEphemeralLeft: s.ephemeralLeft,
		guarantee.ReasonExpiredEarly:  s.expiredEarly,
	}[s.v.Reason]
	if tell == nil || !tell(&s.Events[s.v.Event]) {
		return false
	}
	s.say("ZooKeeper guarantees otherwise: the ensemble is at fault, not the lock.")
	return true
}

// requestOrder tells of a request that a server handled out of turn.
func (s *story) requestOrder(e *history.Event) bool {
	p := process(e.Process)
	earlier := s.last(e.Process, s.v.Event, func(o *history.Event) bool {
		return o.Kind == history.Serve && o.Request >= e.Request
	})
	if earlier < 0 {
		s.say("A server handled request %d of %s (event %d), which %s had not sent.", e.Request, p,
			s.cite(s.v.Event), p)
		return true
	}
	s.say("A server handled request %d of %s, %s (event %d), after its request %d, %s (event %d).",
		e.Request, p, s.requested(s.v.Event), s.cite(s.v.Event), s.Events[earlier].Request,
		s.requested(earlier), s.cite(earlier))
	return true
}

// requested names the request of an event, as "create c1#0".
func (s *story) requested(event int) string {
	if r := s.Request(event); r != nil {
		return s.asked(r)
	}
	e := &s.Events[event]
	return strings.TrimRight(e.Op+" "+s.node(e.Path), " ")
}

// lostCreate tells of a create that no transaction carried out.
func (s *story) lostCreate(e *history.Event) bool {
	p := process(e.Process)
	s.say("%s's %s was answered with success (event %d), and no transaction had created the node.",
		p, s.requested(s.v.Event), s.cite(s.v.Event))
	if r := s.Request(s.v.Event); r != nil {
		s.show(r.Send)
		if r.Reply >= 0 {
			s.say("From its reply on (event %d), %s relies on a node that does not exist.",
				s.cite(r.Reply), p)
		}
	}
	return true
}

// replyOrder tells of replies that overtook each other.
func (s *story) replyOrder(e *history.Event) bool {
	earlier := s.last(e.Process, s.v.Event, func(o *history.Event) bool {
		return o.Kind == history.Reply && o.Request >= e.Request
	})
	if earlier < 0 {
		return false
	}
	s.say("%s received the reply to its request %d, %s (event %d), after that to its request %d, "+
		"%s (event %d).", process(e.Process), e.Request, s.requested(s.v.Event),
		s.cite(s.v.Event), s.Events[earlier].Request, s.requested(earlier), s.cite(earlier))
	return true
}

// olderState tells of a reply that shows less than an earlier one.
func (s *story) olderState(e *history.Event) bool {
	p := process(e.Process)
	earlier := s.last(e.Process, s.v.Event, func(o *history.Event) bool {
		return o.Kind == history.Reply && o.Zxid == s.v.Evidence.After
	})
	if earlier < 0 {
		return false
	}
	s.say("%s saw an older state than before: the reply to %s (event %d) shows transaction %s, "+
		"although that to %s (event %d) had shown transaction %s.", p, s.requested(s.v.Event),
		s.cite(s.v.Event), history.FormatZxid(e.Zxid), s.requested(earlier), s.cite(earlier),
		history.FormatZxid(s.v.Evidence.After))
	s.between(e.Zxid, s.v.Evidence.After)
	return true
}

// changesTold is the number of changes that a sentence tells.
const changesTold = 3

// between tells which changes of znodes a process that sees the state of a transaction misses.
func (s *story) between(seen, missed int64) {
	var changes []string
	for i := range s.Events[:s.v.Event] {
		e := &s.Events[i]
		if e.Zxid <= seen || e.Zxid > missed {
			continue
		}
		switch e.Kind {
		case history.NodeCreated, history.NodeDeleted, history.NodeChanged:
			if len(changes) < changesTold {
				changes = append(changes, fmt.Sprintf("%s (event %d)", s.happened(i), s.cite(i)))
			}
		}
	}
	if len(changes) > 0 {
		s.say("In that state it is as if none of this had happened: %s.", and(changes))
	}
}

// staleSync tells of a sync that did not wait for the newest state.
func (s *story) staleSync(e *history.Event) bool {
	p := process(e.Process)
	r := s.Request(s.v.Event)
	if r == nil {
		return false
	}
	s.say("%s sent a sync (event %d) when transaction %s was committed, and the reply (event %d) "+
		"shows only transaction %s.", p, s.cite(r.Send),
		history.FormatZxid(s.v.Evidence.After), s.cite(s.v.Event), history.FormatZxid(e.Zxid))
	s.between(e.Zxid, s.v.Evidence.After)
	s.say("A client that reads after a sync relies on seeing what was committed before it.")
	return true
}

// transaction returns the number of a transaction, with what it does if the history shows it before
// an event.
func (s *story) transaction(zxid int64, before int) string {
	for i := range s.Events[:before] {
		if e := &s.Events[i]; e.Zxid == zxid && ofTransaction(e.Kind) {
			return fmt.Sprintf("transaction %s (event %d)", history.FormatZxid(zxid), s.cite(i))
		}
	}
	return "transaction " + history.FormatZxid(zxid)
}

// ofTransaction reports whether an event of that kind is a transaction of the ensemble.
func ofTransaction(k history.Kind) bool {
	switch k {
	case history.NodeCreated, history.NodeDeleted, history.NodeChanged, history.SessionOpened,
		history.SessionExpired, history.SessionClosed:
		return true
	}
	return false
}

// does tells what a transaction does, as "c1#0 was created by c1".
func (s *story) does(event int) string {
	e := &s.Events[event]
	switch e.Kind {
	case history.SessionOpened:
		return process(e.Process) + "'s session was opened"
	case history.SessionExpired:
		return process(e.Process) + "'s session expired"
	case history.SessionClosed:
		return process(e.Process) + "'s session was closed"
	}
	return s.happened(event)
}

// commitOrder tells of a transaction that was committed after a later one.
func (s *story) commitOrder(e *history.Event) bool {
	s.say("Transaction %s (%s, event %d) was committed after %s.", history.FormatZxid(e.Zxid),
		s.does(s.v.Event), s.cite(s.v.Event), s.transaction(s.v.Evidence.After, s.v.Event))
	return true
}

// appliedEarly tells of a transaction that a server applied before its commit.
func (s *story) appliedEarly(e *history.Event) bool {
	for i := range s.Events[:s.v.Event] {
		o := &s.Events[i]
		if o.Kind != history.Applied || o.Zxid < e.Zxid {
			continue
		}
		s.say("Server s%d applied transaction %s (event %d) before that was committed: %s only at "+
			"event %d.", o.Server, history.FormatZxid(e.Zxid), s.cite(i), s.does(s.v.Event),
			s.cite(s.v.Event))
		s.say("In between, a client of s%d can see what the ensemble may still forget.", o.Server)
		return true
	}
	return false
}

// noMajority tells of a transaction that too few servers had logged.
func (s *story) noMajority(e *history.Event) bool {
	var logged []string
	told := make(map[int32]bool)
	for i := range s.Events[:s.v.Event] {
		o := &s.Events[i]
		if o.Kind == history.Logged && o.Zxid >= e.Zxid && !told[o.Server] {
			told[o.Server] = true
			logged = append(logged, fmt.Sprintf("s%d (event %d)", o.Server, s.cite(i)))
		}
	}
	by := "only the leader had logged it"
	if len(logged) > 0 {
		by = "besides the leader only " + and(logged) + " had logged it"
	}
	s.say("Transaction %s (%s) was committed at event %d, when %s: no majority of the servers.",
		history.FormatZxid(e.Zxid), s.does(s.v.Event), s.cite(s.v.Event), by)
	s.say("If the leader fails now, the others forget it.")
	return true
}

// applyOrder tells of a server that applied a transaction after a later one.
func (s *story) applyOrder(e *history.Event) bool {
	for i := s.v.Event - 1; i >= 0; i-- {
		o := &s.Events[i]
		if o.Kind == history.Applied && o.Server == e.Server && o.Zxid >= e.Zxid {
			s.say("Server s%d applied transaction %s (event %d) after transaction %s (event %d).",
				e.Server, history.FormatZxid(e.Zxid), s.cite(s.v.Event),
				history.FormatZxid(o.Zxid), s.cite(i))
			return true
		}
	}
	return false
}

// endedSession tells what was done for a session after its end.
func (s *story) endedSession(e *history.Event) bool {
	for i := s.v.Event - 1; i >= 0; i-- {
		o := &s.Events[i]
		if o.Kind != history.SessionExpired && o.Kind != history.SessionClosed ||
			o.Session != e.Session {
			continue
		}
		what := fmt.Sprintf("created %s", s.node(e.Path))
		if e.Kind == history.WatchArmed {
			what = fmt.Sprintf("set watch %d on %s", e.Watch, s.node(e.Path))
		}
		how := "expired"
		if o.Kind == history.SessionClosed {
			how = "been closed"
		}
		s.say("%s %s (event %d) in a session that had %s before (event %d).", process(e.Process),
			what, s.cite(s.v.Event), how, s.cite(i))
		if e.Kind == history.NodeCreated {
			s.say("No end of a session deletes %s any more.", s.node(e.Path))
		}
		return true
	}
	return false
}

// createdTwice tells of a node that was created while it existed.
func (s *story) createdTwice(e *history.Event) bool {
	earlier := s.Created(e.Path, s.v.Event)
	if earlier < 0 {
		return false
	}
	s.say("%s was created (event %d) although it existed: %s at event %d.", s.node(e.Path),
		s.cite(s.v.Event), s.happened(earlier), s.cite(earlier))
	return true
}

// ephemeralLeft tells of an ephemeral node that the end of its session did not delete.
func (s *story) ephemeralLeft(e *history.Event) bool {
	path := s.v.Evidence.Path
	created := s.Created(path, s.v.Event)
	if created < 0 {
		return false
	}
	s.say("%s (event %d), and its ephemeral %s was not deleted with it.", s.does(s.v.Event),
		s.cite(s.v.Event), s.node(path))
	s.say("%s was created at event %d. A contender behind %s waits for a process that has lost "+
		"its place.", s.node(path), s.cite(created), s.node(path))
	return true
}

// expiredEarly tells of a session that ended before its timeout.
func (s *story) expiredEarly(e *history.Event) bool {
	p := process(s.v.Evidence.Process)
	opened := -1
	for i := range s.Events[:s.v.Event] {
		if o := &s.Events[i]; o.Kind == history.SessionOpened && o.Session == e.Session {
			opened = i
		}
	}
	if opened < 0 {
		return false
	}
	timeout, _ := time.ParseDuration(s.Events[opened].Name)
	from, since := opened, "it was opened"
	if heard, known := s.earlier(); known {
		from, since = heard, "the ensemble last heard from its client"
	}
	s.say("%s's session expired (event %d) %s after %s (event %d), and its timeout is %s.", p,
		s.cite(s.v.Event), span(e.At-s.Events[from].At), since, s.cite(from), span(timeout))
	if grant := s.grantOf(s.v.Evidence.Process, s.v.Event); grant >= 0 &&
		s.next(s.v.Evidence.Process, grant, of(history.UnlockCall)) < 0 {
		s.say("%s had been granted the lock (event %d), and relied on keeping it for as long as "+
			"its client can reach the ensemble.", p, s.cite(grant))
	}
	return true
}
