package history

import (
	"fmt"
	"slices"
	"time"

	"github.com/interlock-sim/interlock/history/models"
)

// WithinClocks are the properties that [CheckWithin] can judge. The others need what only a
// simulation knows: the events of the ensemble, or a time from which no fault strikes.
var WithinClocks = []Property{
	ClientMutualExclusion, Fencing, NoLostUpdate, FIFO, LossNotification,
	MonotonicToken, Linearizable,
}

// CheckWithin decides a property of a history whose events have times of clocks that may be off. It
// returns a violation only if the property is broken whatever the clocks really said within their
// bounds:
//   - [ClientMutualExclusion]: two processes were inside at the same time even if each entered as
//     late, and left or was told of its loss as early, as its clock allows. If the history has no
//     end of a stay, the stay ends with the last event of its attempt.
//   - [FIFO]: a process had surely queued, by a NodeCreated, before another was granted the lock,
//     was surely granted it after that, and has the lower token. A grant that was lost is not
//     compared, for it may have come late.
//   - [MonotonicToken]: two grants have the same token, or a lower one was asked for when a higher
//     one had surely been granted.
//   - [Linearizable]: no order of the acquires and releases is possible if each may have taken
//     effect at any time from the earliest at which it can have been called to the latest at which
//     it can have returned. A lock that was lost may have been released at any time since it was
//     granted.
//   - [Fencing] and [NoLostUpdate] go by the versions that the ResourceRead and ResourceWrite
//     events of a resource tell, and [LossNotification] by what the process of each attempt was
//     told, in its own order: none of them depends on clocks.
//
// A lock was lost if a Lost event says so, or an error of Unlock.
//
// Each lock is judged by itself; see [ByLock]. NoLostUpdate goes by resources: the Path of its
// events names a resource, and each lock protects one resource without a name. A process may have
// several attempts open at once, for several locks or for one. Those for one lock are not judged
// against each other, because an owner may take its lock again, or share it between goroutines.
//
// While a process is paused it is told of nothing, and its next act may come before it has looked
// at its lock. A history tells of a pause by two events: a Fault with the name pause, at the last
// time at which the process surely ran, and a Resumed, at the time at which the process noticed.
// Without a Resumed the pause lasts until the next event of the process. From the beginning of a
// pause that is longer than [Clocks].Pause until Clocks.Pause after its end, the process does not
// count as inside. So a holder that was paused, and leaves as the first thing that it does, breaks
// nothing. A holder that stays inside after that is inside again.
//
// Every grant excludes all others of the same lock: grants of readers and of semaphores must be
// left out of the history.
//
// It reports false if it could not decide within the limits, and panics if the property is none of
// [WithinClocks]. Events must be in the order of their times, as [Merge] returns them. Of a history
// that is right it takes time linear in the events, times how many processes are in the queue at
// the same time; but [Linearizable] is as [models.Check], and takes memory quadratic in the
// acquires of a lock.
func CheckWithin(property Property, events []Event, clocks Clocks,
	limits models.Limits,
) (v *Violation, decided bool) {
	switch property {
	case LossNotification:
		return lossNotificationByProcess(events), true
	case NoLostUpdate:
		return lostUpdateByVersion(events), true
	}
	decided = true
	for one := range ByLock(events) {
		v := one.Judge(func(events []Event) *Violation {
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
func checkLockWithin(property Property, events []Event, clocks *Clocks,
	limits models.Limits,
) (v *Violation, decided bool) {
	switch property {
	case ClientMutualExclusion:
		return clientExclusionWithin(events, clocks), true
	case FIFO:
		return fifoWithin(events, clocks), true
	case MonotonicToken:
		return tokenWithin(events, clocks), true
	case Linearizable:
		return linearizableWithin(events, clocks, limits)
	case Fencing:
		return fencingByVersion(events), true
	}
	panic(fmt.Sprintf("history: %s cannot be checked within clocks", property))
}

// An grantedAttempt is a call of Lock that got the lock, with the indexes of its events.
type grantedAttempt struct {
	call, queued, granted int  // queued is -1 where it is not known
	ended                 int  // the call of Unlock or the Lost event; past all events if neither
	lost                  bool // the process was told so, by a Lost event or by Unlock
}

// attempts returns the calls of Lock that got the lock, in the order of their grants.
func attempts(events []Event) []grantedAttempt {
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
		case LockCall:
			calls[key] = i
		case UnlockCall, Lost:
			lost[key] = lost[key] || e.Kind == Lost
			if _, known := ended[key]; !known {
				ended[key] = i
			}
		case UnlockReturn:
			lost[key] = lost[key] || e.Err != ""
		case NodeCreated:
			queued[nodeKey{e.Process, e.Path}] = i
		}
	}
	var all []grantedAttempt
	for i := range events {
		e := &events[i]
		if e.Kind != LockReturn || e.Err != "" {
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

// grantedBefore returns those of the attempts whose grant stands before an event.
func grantedBefore(all []grantedAttempt, event int) []grantedAttempt {
	n, _ := slices.BinarySearchFunc(all, event,
		func(a grantedAttempt, event int) int { return a.granted - event })
	return all[:n]
}

func fifoWithin(events []Event, clocks *Clocks) *Violation {
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
				return &Violation{
					Property: FIFO, Event: g.granted, Reason: reasonOvertaken,
					Detail: detail,
				}
			}
		}
	}
	return nil
}

func tokenWithin(events []Event, clocks *Clocks) *Violation {
	all := attempts(events)
	highest := make([]int64, len(all)+1)     // of so many first grants
	with := make(map[int64][]grantedAttempt) // of a token, the grants before
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

func tokenViolation(before, after *Event, event int) *Violation {
	return &Violation{
		Property: MonotonicToken, Event: event, Reason: reasonTokenFell,
		Detail: fmt.Sprintf("c%d was granted the lock with token %d, c%d before it with %d",
			after.Process, after.Zxid, before.Process, before.Zxid),
	}
}

// linearizableWithin uses the model of a lock that its owner may take again, because attempts of
// one process are not judged against each other.
func linearizableWithin(events []Event, clocks *Clocks,
	limits models.Limits,
) (v *Violation, decided bool) {
	of := make(map[attemptKey][]int) // the events of an attempt
	for i := range events {
		key := attemptKey{events[i].Process, events[i].Attempt}
		of[key] = append(of[key], i)
	}
	var spans []timedOperation
	for i := range events {
		if e := &events[i]; e.Kind == LockReturn && e.Err == "" && e.Process != 0 {
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
		return &Violation{
			Property: Linearizable, Event: len(events) - 1, Reason: reasonNoOrder,
			Detail: detail,
		}, true
	}
	return nil, true
}

// operationsWithin returns the acquire of an attempt and its release. The release took effect
// between the call and the return of Unlock if Unlock returned no error and the process was told of
// no loss before; otherwise it may have taken effect at any time since the grant.
func operationsWithin(events []Event, of []int, granted *Event, clocks *Clocks) []timedOperation {
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
		case LockCall:
			acquire.from = clocks.earliest(e)
		case Lost:
			lost = true
		case UnlockCall:
			from = clocks.earliest(e)
		case UnlockReturn:
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

// lossNotificationByProcess decides [LossNotification] by what the process of each attempt was told
// since it was granted the lock.
func lossNotificationByProcess(events []Event) *Violation {
	type hold struct {
		told   int // the index of the Lost event, 0 if there is none
		asking int // the index of the last ReenterCall, 0 if there is none
	}
	holds := make(map[attemptKey]hold)
	for i := range events {
		e := &events[i]
		key := attemptKey{e.Process, e.Attempt}
		if e.Kind == LockReturn && e.Err == "" {
			holds[key] = hold{}
		}
		h, held := holds[key]
		if !held || e.Err != "" && e.Kind != Lost {
			continue
		}
		reason := ""
		switch e.Kind {
		case Lost:
			h.told = i
			holds[key] = h
		case ReenterCall:
			h.asking = i
			holds[key] = h
		case UnlockReturn:
			reason = reasonUnsaid
		case Enter:
			reason = reasonEnteredOut
		case ReenterReturn:
			if h.told < h.asking {
				reason = reasonReentered
			}
		}
		if reason != "" && h.told != 0 {
			return &Violation{
				Property: LossNotification, Event: i, Reason: reason,
				Detail: fmt.Sprintf("c%d: %v of attempt %d", e.Process, e.Kind, e.Attempt),
			}
		}
	}
	return nil
}
