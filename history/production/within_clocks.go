package production

import (
	"fmt"
	"slices"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/history/models"
)

// WithinClocks lists the properties that [Within] can decide. The others need events that only a
// simulation has: those of the ensemble, or the start of the fair phase.
var WithinClocks = []history.Property{
	history.ClientMutualExclusion, history.Fencing, history.NoLostUpdate, history.FIFO,
	history.LossNotification,
	history.MonotonicToken, history.Linearizable,
}

// Within decides a property of a history whose times are readings of inaccurate clocks. It returns
// a violation only if the property is broken for every true time within the uncertainty of the
// clocks:
//   - [history.ClientMutualExclusion]: two processes were inside at once even if each entered as
//     late, and left or was notified of its loss as early, as its clock allows. If the history has
//     no end of an attempt's time inside, it ends with the last event of the attempt.
//   - [history.FIFO]: a process had certainly queued, by a NodeCreated, before another was granted
//     the lock, was certainly granted it later, and has the lower token. A grant that was lost is
//     not compared, because it may have come late.
//   - [history.MonotonicToken]: two grants have the same token, or the attempt with the lower token
//     began certainly after the grant of the higher one. An attempt of [Untimed] may have begun at
//     any time.
//   - [history.Linearizable]: no order of the acquires and releases is possible if each took effect
//     between the earliest time of its call and the latest time of its return. A lock that was lost
//     may have been released at any time since its grant.
//   - [history.Fencing] and [history.NoLostUpdate] depend on the versions in the ResourceRead and
//     ResourceWrite events, and [history.LossNotification] on the order of the events of each
//     process. They do not depend on clocks.
//
// A lock was lost if a Lost event or an error of Unlock reports it.
//
// Attempts in [history.SharedMode] do not exclude one another. In a [history.SemaphoreMode], as
// many as the lock has places do not. An Enter of an exclusive attempt in shared mode is its
// downgrade. Fencing and NoLostUpdate do not cover writes in these modes.
//
// Each lock is checked by itself; see [ByLock]. NoLostUpdate is checked for each resource: the Path
// of an event names a resource, and each lock protects one resource without a name. A process may
// have several attempts open at once, for several locks or for one: see [Merge].
//
// A paused process receives no notification, and its next event may come before it has checked its
// lock. A history records a pause by two events: a Fault named "pause", at the last time at which
// the process certainly ran, and a Resumed, when the process detected the pause. Without a Resumed
// the pause lasts until the next event of the process. [Clocks].Pauses are pauses that the history
// does not record. From the start of a pause longer than [Clocks].Pause until Clocks.Pause after
// its end, the process does not count as inside: a paused holder that leaves at once breaks
// nothing; if it stays inside, it counts again later.
//
// Within reports false if it reached the limits without a verdict, and panics if the property
// is not one of [WithinClocks]. The events must be in the order of their times, as [Merge] returns
// them. On a history without a violation it takes time linear in the events, times the number of
// processes in the queue at once; FIFO of a semaphore takes quadratic time. For
// [history.Linearizable] it takes the time of [models.Check], and memory quadratic in the acquires
// of a lock.
func Within(property history.Property, events []history.Event, clocks Clocks,
	limits models.Limits,
) (v *history.Violation, decided bool) {
	all, decided := AllWithin(property, events, clocks, limits)
	if len(all) == 0 {
		return nil, decided
	}
	return all[0], true
}

// AllWithin is [Within], but returns all violations: at most one for each Enter, waiting attempt,
// grant, write or result of a call that breaks the property, and one for each lock that is not
// linearizable.
func AllWithin(property history.Property, events []history.Event, clocks Clocks,
	limits models.Limits,
) (all []*history.Violation, decided bool) {
	switch property {
	case history.LossNotification:
		return lossNotificationByProcess(events), true
	case history.NoLostUpdate:
		return lostUpdateByVersion(events), true
	}
	decided = true
	for one := range ByLock(events) {
		all = append(all, one.judgeAll(func(events []history.Event) []*history.Violation {
			all, ok := checkLockWithin(property, events, &clocks, limits)
			decided = decided && ok
			return all
		})...)
	}
	return all, decided
}

// checkLockWithin decides a property of the history of one lock.
func checkLockWithin(property history.Property, events []history.Event, clocks *Clocks,
	limits models.Limits,
) (all []*history.Violation, decided bool) {
	switch property {
	case history.ClientMutualExclusion:
		return clientExclusionWithin(events, clocks), true
	case history.FIFO:
		return fifoWithin(events, clocks), true
	case history.MonotonicToken:
		return tokenWithin(events, clocks), true
	case history.Linearizable:
		return linearizableWithin(events, clocks, limits)
	case history.Fencing:
		return fencingByVersion(events), true
	}
	panic(fmt.Sprintf("history: %s cannot be checked within clocks", property))
}

// A grantedAttempt is a call of Lock that was granted the lock, with the indexes of its events.
type grantedAttempt struct {
	call, queued, granted int // call and queued are -1 if unknown
	// the first UnlockCall or Lost, or the number of events if there is none
	ended int
	lost  bool // a Lost event or an error of Unlock reported the loss
}

// attempts returns the granted attempts in the order of their grants.
func attempts(events []history.Event) []grantedAttempt {
	calls, ended := timedCalls(events), make(map[attemptKey]int)
	lost, queued := make(map[attemptKey]bool), make(map[nodeKey]int)
	for i := range events {
		e := &events[i]
		key := attemptKey{e.Process, e.Attempt}
		switch e.Kind {
		case history.UnlockCall, history.Lost:
			lost[key] = lost[key] || e.Kind == history.Lost
			if _, known := ended[key]; !known {
				ended[key] = i
			}
		case history.UnlockReturn:
			lost[key] = lost[key] || e.Err != ""
		case history.NodeCreated:
			queued[nodeKey{e.Process, e.Path}] = i
		}
	}
	var all []grantedAttempt
	for i := range events {
		e := &events[i]
		if e.Kind != history.LockReturn || e.Err != "" {
			continue
		}
		key := attemptKey{e.Process, e.Attempt}
		a := grantedAttempt{call: -1, queued: -1, granted: i, ended: len(events), lost: lost[key]}
		if call, ok := calls[key]; ok {
			a.call = call
		}
		if end, ok := ended[key]; ok {
			a.ended = end
		}
		if node, ok := queued[nodeKey{e.Process, e.Path}]; ok && e.Path != "" {
			a.queued = node
		}
		all = append(all, a)
	}
	return all
}

// timedCalls returns the index of the LockCall of each attempt, unless it is missing or has the
// time of the attempt's first node, which the attempt made later: a recorder that was not told when
// Lock was called writes that time.
func timedCalls(events []history.Event) map[attemptKey]int {
	calls, queued := make(map[attemptKey]int), make(map[attemptKey]bool)
	for i := range events {
		e := &events[i]
		key := attemptKey{e.Process, e.Attempt}
		switch e.Kind {
		case history.LockCall:
			calls[key] = i
		case history.NodeCreated:
			call, known := calls[key]
			if known && !queued[key] && e.Attempt != 0 && events[call].At == e.At {
				delete(calls, key)
			}
			queued[key] = true
		}
	}
	return calls
}

// Untimed returns the indexes of the grants in a history of a service that do not show when Lock
// was called: the LockCall is missing, or has the time of the attempt's first NodeCreated.
func Untimed(events []history.Event) (grants []int) {
	calls := timedCalls(events)
	for i := range events {
		e := &events[i]
		if e.Kind != history.LockReturn || e.Err != "" {
			continue
		}
		if _, known := calls[attemptKey{e.Process, e.Attempt}]; !known {
			grants = append(grants, i)
		}
	}
	return grants
}

// grantedBefore returns the attempts that were granted before an event.
func grantedBefore(all []grantedAttempt, event int) []grantedAttempt {
	n, _ := slices.BinarySearchFunc(all, event,
		func(a grantedAttempt, event int) int { return a.granted - event })
	return all[:n]
}

// fifoWithin returns at most one violation for each attempt that was overtaken.
func fifoWithin(events []history.Event, clocks *Clocks) []*history.Violation {
	var violations []*history.Violation
	all := attempts(events)
	for _, w := range all {
		if w.queued < 0 || w.lost {
			continue
		}
		earlier := grantedBefore(all, w.granted)
		for _, g := range earlier[min(len(earlier), len(grantedBefore(all, w.queued))):] {
			if !overtakes(events, clocks, g, w) || hasPlace(events, clocks, all, g) {
				continue
			}
			waited, granted := &events[w.granted], &events[g.granted]
			violations = append(violations, &history.Violation{
				Property: history.FIFO, Event: g.granted, Reason: check.ReasonOvertaken,
				Detail: fmt.Sprintf("%s was granted the lock with token %d, while %s waited "+
					"with %d", history.ProcessName(granted.Process), granted.Zxid,
					history.ProcessName(waited.Process), waited.Zxid),
				Evidence: history.Evidence{Process: granted.Process, Other: waited.Process},
			})
			break
		}
	}
	return violations
}

// overtakes reports whether attempt g was certainly granted the lock while w certainly waited
// before it, and the lock does not admit both.
func overtakes(events []history.Event, clocks *Clocks, g, w grantedAttempt) bool {
	waited, granted := &events[w.granted], &events[g.granted]
	return !g.lost && waited.Zxid != 0 && granted.Zxid > waited.Zxid &&
		waited.Process != granted.Process && !(waited.Shared() && granted.Shared()) &&
		clocks.latest(&events[w.queued]) < clocks.earliest(granted) &&
		clocks.latest(granted) < clocks.earliest(waited)
}

// hasPlace reports whether a semaphore may have had a place for an attempt when it was granted one:
// fewer attempts with lower tokens than it has places were certainly there until then.
func hasPlace(events []history.Event, clocks *Clocks, all []grantedAttempt, g grantedAttempt) bool {
	granted := &events[g.granted]
	places := granted.Places()
	if places < 2 {
		return false
	}
	before := 0
	for _, a := range all {
		returned := &events[a.granted]
		places = max(places, returned.Places())
		if a.lost || a.ended == len(events) || returned.Zxid == 0 || returned.Zxid >= granted.Zxid {
			continue
		}
		if clocks.earliest(&events[a.ended]) > clocks.latest(granted) {
			before++
		}
	}
	return before < places
}

// tokenWithin returns at most one violation for each grant.
func tokenWithin(events []history.Event, clocks *Clocks) []*history.Violation {
	var violations []*history.Violation
	all := attempts(events)
	highest := make([]int64, len(all)+1)     // the highest token of the first n grants
	with := make(map[int64][]grantedAttempt) // the earlier grants with each token
	twice := make(map[int]bool)              // the grants with a token of another
	for n, b := range all {
		after := &events[b.granted]
		highest[n+1] = max(highest[n], after.Zxid)
		if after.Zxid == 0 {
			continue
		}
		for _, a := range with[after.Zxid] {
			if before := &events[a.granted]; before.Process != after.Process {
				violations = append(violations, tokenViolation(before, after, b.granted))
				twice[b.granted] = true
				break
			}
		}
		with[after.Zxid] = append(with[after.Zxid], b)
	}
	for _, b := range all {
		after, earlier := &events[b.granted], grantedBefore(all, b.call) // none without a call
		if b.call < 0 || after.Zxid == 0 || highest[len(earlier)] < after.Zxid ||
			twice[b.granted] {
			continue
		}
		for _, a := range earlier {
			before := &events[a.granted]
			openAtOnce := before.Process == after.Process && b.call < a.ended
			if a.granted != b.granted && !openAtOnce && before.Zxid >= after.Zxid &&
				clocks.latest(before) < clocks.earliest(&events[b.call]) {
				violations = append(violations, tokenViolation(before, after, b.granted))
				break
			}
		}
	}
	return violations
}

func tokenViolation(before, after *history.Event, event int) *history.Violation {
	return &history.Violation{
		Property: history.MonotonicToken, Event: event, Reason: check.ReasonTokenFell,
		Detail: fmt.Sprintf("%s was granted the lock with token %d, %s before it with %d",
			history.ProcessName(after.Process), after.Zxid, history.ProcessName(before.Process),
			before.Zxid),
		Evidence: history.Evidence{
			Process: after.Process, Other: before.Process, Zxid: after.Zxid, After: before.Zxid,
		},
	}
}

// lossNotificationByProcess decides [history.LossNotification] by the events of each granted
// attempt, in the order of its process.
func lossNotificationByProcess(events []history.Event) []*history.Violation {
	var all []*history.Violation
	type hold struct {
		lost      int // the index of the Lost event, or 0
		reentered int // the index of the last ReenterCall, or 0
	}
	holds := make(map[attemptKey]hold)
	for i := range events {
		e := &events[i]
		key := attemptKey{e.Process, e.Attempt}
		if e.Kind == history.LockReturn && e.Err == "" {
			holds[key] = hold{}
		}
		h, held := holds[key]
		if !held || e.Err != "" && e.Kind != history.Lost {
			continue
		}
		reason := ""
		switch e.Kind {
		case history.Lost:
			h.lost = i
			holds[key] = h
		case history.ReenterCall:
			h.reentered = i
			holds[key] = h
		case history.UnlockReturn:
			reason = check.ReasonUnsaid
		case history.Enter:
			reason = check.ReasonEnteredOut
		case history.ReenterReturn:
			if h.lost < h.reentered {
				reason = check.ReasonReentered
			}
		}
		if reason != "" && h.lost != 0 {
			all = append(all, &history.Violation{
				Property: history.LossNotification, Event: i, Reason: reason,
				Detail:   check.LossDetail(e),
				Evidence: history.Evidence{Process: e.Process},
			})
		}
	}
	return all
}
