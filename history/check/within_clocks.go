package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/interlock-sim/interlock/history"
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
//     began certainly after the grant of the higher one.
//   - [history.Linearizable]: no order of the acquires and releases is possible if each took effect
//     between the earliest time of its call and the latest time of its return. A lock that was lost
//     may have been released at any time since its grant.
//   - [history.Fencing] and [history.NoLostUpdate] depend on the versions in the ResourceRead and
//     ResourceWrite events, and [history.LossNotification] on the order of the events of each
//     process. They do not depend on clocks.
//
// A lock was lost if a Lost event or an error of Unlock reports it.
//
// Each lock is checked by itself; see [ByLock]. NoLostUpdate is checked for each resource: the Path
// of an event names a resource, and each lock protects one resource without a name. A process may
// have several attempts open at once, for several locks or for one. Attempts of one process for one
// lock are not checked against each other, because an owner may reenter its lock or share it
// between goroutines.
//
// A paused process receives no notification, and its next event may come before it has checked its
// lock. A history records a pause by two events: a Fault named "pause", at the last time at which
// the process certainly ran, and a Resumed, when the process detected the pause. Without a Resumed
// the pause lasts until the next event of the process. From the start of a pause longer than
// [Clocks].Pause until Clocks.Pause after its end, the process does not count as inside: a paused
// holder that leaves at once breaks nothing, and one that stays inside counts again later.
//
// Handles that several processes may hold at once, such as those of read locks and of semaphores,
// must be left out of the history.
//
// Within reports false if it reached the limits without a verdict, and panics if the property
// is not one of [WithinClocks]. The events must be in the order of their times, as [Merge] returns
// them. On a history without a violation it takes time linear in the events, times the number of
// processes in the queue at once. For [history.Linearizable] it takes the time of [models.Check],
// and memory quadratic in the acquires of a lock.
func Within(property history.Property, events []history.Event, clocks Clocks,
	limits models.Limits,
) (v *history.Violation, decided bool) {
	switch property {
	case history.LossNotification:
		return lossNotificationByProcess(events), true
	case history.NoLostUpdate:
		return lostUpdateByVersion(events), true
	}
	decided = true
	for one := range ByLock(events) {
		v := one.Judge(func(events []history.Event) *history.Violation {
			v, ok := checkLockWithin(property, events, &clocks, limits)
			decided = decided && ok
			return v
		})
		if v != nil {
			return v, true
		}
	}
	return nil, decided
}

// checkLockWithin decides a property of the history of one lock.
func checkLockWithin(property history.Property, events []history.Event, clocks *Clocks,
	limits models.Limits,
) (v *history.Violation, decided bool) {
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
	call, queued, granted int // queued is -1 if unknown
	// the first UnlockCall or Lost, or the number of events if there is none
	ended int
	lost  bool // a Lost event or an error of Unlock reported the loss
}

// attempts returns the granted attempts in the order of their grants.
func attempts(events []history.Event) []grantedAttempt {
	type nodeKey struct {
		process int32
		path    string
	}
	calls, ended := make(map[attemptKey]int), make(map[attemptKey]int)
	lost, queued := make(map[attemptKey]bool), make(map[nodeKey]int)
	for i := range events {
		e := &events[i]
		key := attemptKey{e.Process, e.Attempt}
		switch e.Kind {
		case history.LockCall:
			calls[key] = i
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
		a := grantedAttempt{call: i, queued: -1, granted: i, ended: len(events), lost: lost[key]}
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

// grantedBefore returns the attempts that were granted before an event.
func grantedBefore(all []grantedAttempt, event int) []grantedAttempt {
	n, _ := slices.BinarySearchFunc(all, event,
		func(a grantedAttempt, event int) int { return a.granted - event })
	return all[:n]
}

func fifoWithin(events []history.Event, clocks *Clocks) *history.Violation {
	all := attempts(events)
	for _, w := range all {
		if w.queued < 0 || w.lost {
			continue
		}
		earlier := grantedBefore(all, w.granted)
		for _, g := range earlier[min(len(earlier), len(grantedBefore(all, w.queued))):] {
			waited, granted := &events[w.granted], &events[g.granted]
			if g.lost || waited.Zxid == 0 || granted.Zxid <= waited.Zxid ||
				waited.Process == granted.Process {
				continue
			}
			if clocks.latest(&events[w.queued]) < clocks.earliest(granted) &&
				clocks.latest(granted) < clocks.earliest(waited) {
				detail := fmt.Sprintf("c%d was granted the lock with token %d, "+
					"while c%d waited with %d", granted.Process, granted.Zxid,
					waited.Process, waited.Zxid)
				return &history.Violation{
					Property: history.FIFO, Event: g.granted, Reason: reasonOvertaken,
					Detail:   detail,
					Evidence: history.Evidence{Process: granted.Process, Other: waited.Process},
				}
			}
		}
	}
	return nil
}

func tokenWithin(events []history.Event, clocks *Clocks) *history.Violation {
	all := attempts(events)
	highest := make([]int64, len(all)+1)     // the highest token of the first n grants
	with := make(map[int64][]grantedAttempt) // the earlier grants with each token
	for n, b := range all {
		after := &events[b.granted]
		highest[n+1] = max(highest[n], after.Zxid)
		if after.Zxid == 0 {
			continue
		}
		for _, a := range with[after.Zxid] {
			if before := &events[a.granted]; before.Process != after.Process {
				return tokenViolation(before, after, b.granted)
			}
		}
		with[after.Zxid] = append(with[after.Zxid], b)
	}
	for _, b := range all {
		after, earlier := &events[b.granted], grantedBefore(all, b.call)
		if after.Zxid == 0 || highest[len(earlier)] < after.Zxid {
			continue
		}
		for _, a := range earlier {
			before := &events[a.granted]
			openAtOnce := before.Process == after.Process && b.call < a.ended
			if a.granted != b.granted && !openAtOnce && before.Zxid >= after.Zxid &&
				clocks.latest(before) < clocks.earliest(&events[b.call]) {
				return tokenViolation(before, after, b.granted)
			}
		}
	}
	return nil
}

func tokenViolation(before, after *history.Event, event int) *history.Violation {
	return &history.Violation{
		Property: history.MonotonicToken, Event: event, Reason: reasonTokenFell,
		Detail: fmt.Sprintf("c%d was granted the lock with token %d, c%d before it with %d",
			after.Process, after.Zxid, before.Process, before.Zxid),
		Evidence: history.Evidence{
			Process: after.Process, Other: before.Process, Zxid: after.Zxid, After: before.Zxid,
		},
	}
}

// linearizableWithin uses the model of a reentrant lock, because attempts of one process are not
// checked against each other.
func linearizableWithin(events []history.Event, clocks *Clocks,
	limits models.Limits,
) (v *history.Violation, decided bool) {
	of := make(map[attemptKey][]int) // the events of an attempt
	for i := range events {
		key := attemptKey{events[i].Process, events[i].Attempt}
		of[key] = append(of[key], i)
	}
	var spans []timedOperation
	for i := range events {
		if e := &events[i]; e.Kind == history.LockReturn && e.Err == "" && e.Process != 0 {
			own := of[attemptKey{e.Process, e.Attempt}]
			spans = append(spans, operationsWithin(events, own, e, clocks)...)
		}
	}
	switch models.Check(models.Reentrant, fromTimed(spans), limits) {
	case models.Unknown:
		return nil, false
	case models.Violated:
		detail := fmt.Sprintf("%d acquires and releases of c%d and others", len(spans),
			spans[0].input.Process)
		return &history.Violation{
			Property: history.Linearizable, Event: len(events) - 1, Reason: reasonNoOrder,
			Detail: detail,
		}, true
	}
	return nil, true
}

// operationsWithin returns the acquire and the release of an attempt. If Unlock returned no error
// and no Lost event precedes, the release took effect between the call and the return of Unlock.
// Otherwise it may have taken effect at any time since the grant.
func operationsWithin(events []history.Event, of []int, granted *history.Event,
	clocks *Clocks,
) []timedOperation {
	const end = time.Duration(1<<63 - 1)
	acquire := timedOperation{
		from: -end, till: clocks.latest(granted),
		input: models.Input{Process: granted.Process, Verb: models.Acquire},
	}
	release := timedOperation{
		from: clocks.earliest(granted), till: end,
		input: models.Input{Process: granted.Process, Verb: models.Release},
	}
	from, till, lost := release.from, end, false
	for _, i := range of {
		switch e := &events[i]; e.Kind {
		case history.LockCall:
			acquire.from = clocks.earliest(e)
		case history.Lost:
			lost = true
		case history.UnlockCall:
			from = clocks.earliest(e)
		case history.UnlockReturn:
			if e.Err == "" {
				till = clocks.latest(e)
			}
		}
	}
	if !lost && till < end {
		release.from, release.till = from, till
	}
	return []timedOperation{acquire, release}
}

// lossNotificationByProcess decides [history.LossNotification] by the events of each granted
// attempt, in the order of its process.
func lossNotificationByProcess(events []history.Event) *history.Violation {
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
			reason = reasonUnsaid
		case history.Enter:
			reason = reasonEnteredOut
		case history.ReenterReturn:
			if h.lost < h.reentered {
				reason = reasonReentered
			}
		}
		if reason != "" && h.lost != 0 {
			return &history.Violation{
				Property: history.LossNotification, Event: i, Reason: reason,
				Detail:   lossDetail(e),
				Evidence: history.Evidence{Process: e.Process},
			}
		}
	}
	return nil
}
