package history

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/history/models"
)

// Clocks say how far the clocks of processes may be off: what happened at the time t of a process's clock happened, by a
// clock that all share, between t less its uncertainty and t plus it. They make histories of services in production fit
// to be checked, whose events come from several clocks.
type Clocks struct {
	Default time.Duration           // of every process that is not named
	Of      map[int32]time.Duration // of some processes
}

// ParseClocks returns the clocks that a text such as "50ms" or "20ms,c3=100ms" describes.
func ParseClocks(text string) (Clocks, error) {
	clocks := Clocks{Of: make(map[int32]time.Duration)}
	for part := range strings.SplitSeq(text, ",") {
		name, value, named := strings.Cut(part, "=")
		if !named {
			name, value = "", part
		}
		uncertainty, err := time.ParseDuration(value)
		if err != nil || uncertainty < 0 {
			return Clocks{}, fmt.Errorf("%q is not an uncertainty such as 50ms", value)
		}
		if !named {
			clocks.Default = uncertainty
			continue
		}
		process, err := strconv.ParseInt(strings.TrimPrefix(name, "c"), 10, 32)
		if err != nil || process < 1 || !strings.HasPrefix(name, "c") {
			return Clocks{}, fmt.Errorf("%q is not a process such as c1", name)
		}
		clocks.Of[int32(process)] = uncertainty
	}
	return clocks, nil
}

func (c *Clocks) of(process int32) time.Duration {
	if u, ok := c.Of[process]; ok {
		return u
	}
	return c.Default
}

// earliest and latest return when an event can have happened.
func (c *Clocks) earliest(e *Event) time.Duration { return e.At - c.of(e.Process) }
func (c *Clocks) latest(e *Event) time.Duration   { return e.At + c.of(e.Process) }

// Merge puts the events of several logs in the order of their times. Events of one log that have the same time stay in
// their order.
func Merge(logs ...*Log) *Log {
	var events []Event
	for _, l := range logs {
		events = append(events, l.events...)
	}
	slices.SortStableFunc(events, func(a, b Event) int {
		switch {
		case a.At < b.At:
			return -1
		case a.At > b.At:
			return 1
		}
		return 0
	})
	return NewLog(events)
}

// WithinClocks are the properties that [CheckWithin] can judge. The others need what only a simulation knows: the events of
// the ensemble, or a time from which no fault strikes.
var WithinClocks = []Property{BeliefExclusion, FencedExclusion, NoLostUpdate, FIFO, HonestLoss, Token, Linearizable}

// CheckWithin decides a property of a history whose events have times of clocks that may be off. It returns a violation
// only if the property is broken whatever the clocks really said within their bounds:
//   - [BeliefExclusion]: two processes were inside at the same time even if each entered as late, and left or was told of
//     its loss as early, as its clock allows. One of which the history has no end was inside until its last event.
//   - [FIFO]: a process had surely queued, by a NodeCreated, before another was granted the lock, was surely granted it
//     after that, and has the lower token. A grant that was lost is not compared, for it may have come late.
//   - [Token]: two grants have the same token, or a lower one was asked for when a higher one had surely been granted.
//   - [Linearizable]: no order of the acquires and releases is possible if each may have taken effect at any time from the
//     earliest at which it can have been called to the latest at which it can have returned.
//   - [FencedExclusion] and [NoLostUpdate] go by the versions of the one resource that its ResourceWrite events tell, and
//     [HonestLoss] by what each process was told, in its own order: none of them depends on clocks.
//
// Every grant is taken for one that excludes all others on the same path: those of readers and of semaphores must be left
// out of the history.
//
// It reports false if it could not decide within the limits, and panics if the property is none of [WithinClocks]. Events
// must be in the order of their times, as [Merge] returns them. Of a history that is right it takes time linear in the events, times
// how many processes are in the queue at the same time; but [Linearizable] is as [models.Check], and takes memory quadratic in the
// acquires of a lock.
func CheckWithin(property Property, events []Event, clocks Clocks, limits models.Limits) (*Violation, bool) {
	switch property {
	case BeliefExclusion:
		return insideTogether(events, &clocks), true
	case FIFO:
		return overtakenSurely(events, &clocks), true
	case Token:
		return tokenSurelyFell(events, &clocks), true
	case Linearizable:
		return notLinearizableWithin(events, &clocks, limits)
	case FencedExclusion:
		return lateByVersion(events), true
	case NoLostUpdate:
		return lostByVersion(events), true
	case HonestLoss:
		return CheckHonestLoss(events), true
	}
	panic(fmt.Sprintf("history: %s cannot be checked within clocks", property))
}

// A stay is a time that a process surely spent in its critical section.
type stay struct {
	process    int32
	enter      int
	from, till time.Duration
}

func insideTogether(events []Event, clocks *Clocks) *Violation {
	var visits []stay
	for i := range events {
		if events[i].Kind != Enter {
			continue
		}
		v := stay{events[i].Process, i, clocks.latest(&events[i]), 0}
		for j := i + 1; j < len(events); j++ {
			e := &events[j]
			if e.Process != v.process {
				continue
			}
			v.till = clocks.earliest(e)
			if e.Kind == Leave || e.Kind == Lost || e.Kind == UnlockCall || e.Kind == Crashed || e.Kind == Enter {
				break
			}
		}
		visits = slices.DeleteFunc(visits, func(o stay) bool { return o.till <= events[i].At }) // Who enters from here on is too late for it.
		for _, o := range visits {
			if o.process != v.process && max(o.from, v.from) < min(o.till, v.till) {
				return &Violation{Property: BeliefExclusion, Event: i, Reason: reasonTwoInside,
					Detail: fmt.Sprintf("c%d and c%d, which entered at event %d, were both inside for at least %v", v.process, o.process,
						o.enter, min(o.till, v.till)-max(o.from, v.from))}
			}
		}
		visits = append(visits, v)
	}
	return nil
}

// An attempted is a call of Lock that got the lock, with the indexes of its events.
type attempted struct {
	call, queued, granted int // queued is -1 where it is not known
	lost                  bool
}

// An attemptKey names a call of Lock.
type attemptKey struct{ process, attempt int32 }

// attempts returns the calls of Lock that got the lock, in the order of their grants.
func attempts(events []Event) []attempted {
	type nodeKey struct {
		process int32
		path    string
	}
	calls, lost, queued := make(map[attemptKey]int), make(map[attemptKey]bool), make(map[nodeKey]int)
	for i := range events {
		switch e := &events[i]; e.Kind {
		case LockCall:
			calls[attemptKey{e.Process, e.Attempt}] = i
		case Lost:
			lost[attemptKey{e.Process, e.Attempt}] = true
		case NodeCreated:
			queued[nodeKey{e.Process, e.Path}] = i
		}
	}
	var all []attempted
	for i := range events {
		e := &events[i]
		if e.Kind != LockReturn || e.Err != "" {
			continue
		}
		key := attemptKey{e.Process, e.Attempt}
		a := attempted{call: i, queued: -1, granted: i, lost: lost[key]}
		if call, ok := calls[key]; ok {
			a.call = call
		}
		if node, ok := queued[nodeKey{e.Process, e.Path}]; ok && e.Path != "" {
			a.queued = node
		}
		all = append(all, a)
	}
	return all
}

// grantedBefore returns those of the attempts whose grant stands before an event.
func grantedBefore(all []attempted, event int) []attempted {
	n, _ := slices.BinarySearchFunc(all, event, func(a attempted, event int) int { return a.granted - event })
	return all[:n]
}

func overtakenSurely(events []Event, clocks *Clocks) *Violation {
	all := attempts(events)
	for _, w := range all {
		if w.queued < 0 || w.lost {
			continue
		}
		earlier := grantedBefore(all, w.granted)
		for _, g := range earlier[min(len(earlier), len(grantedBefore(all, w.queued))):] {
			waited, granted := &events[w.granted], &events[g.granted]
			if g.lost || waited.Zxid == 0 || granted.Zxid <= waited.Zxid || waited.Process == granted.Process || !sameLock(waited, granted) {
				continue
			}
			if clocks.latest(&events[w.queued]) < clocks.earliest(granted) && clocks.latest(granted) < clocks.earliest(waited) {
				return &Violation{Property: FIFO, Event: g.granted, Reason: reasonOvertaken,
					Detail: fmt.Sprintf("c%d was granted the lock with token %d, while c%d waited with %d", granted.Process, granted.Zxid,
						waited.Process, waited.Zxid)}
			}
		}
	}
	return nil
}

func tokenSurelyFell(events []Event, clocks *Clocks) *Violation {
	for _, all := range byLock(events, attempts(events)) {
		highest := make([]int64, len(all)+1) // of so many first grants
		with := make(map[int64][]attempted)  // of a token, the grants before
		for n, b := range all {
			after := &events[b.granted]
			highest[n+1] = max(highest[n], after.Zxid)
			if after.Zxid == 0 {
				continue
			}
			for _, a := range with[after.Zxid] {
				if before := &events[a.granted]; before.Process != after.Process && sameLock(before, after) {
					return tokenFell(before, after, b.granted)
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
				if a.granted != b.granted && before.Zxid >= after.Zxid && sameLock(before, after) && clocks.latest(before) < clocks.earliest(&events[b.call]) {
					return tokenFell(before, after, b.granted)
				}
			}
		}
	}
	return nil
}

func tokenFell(before, after *Event, event int) *Violation {
	return &Violation{Property: Token, Event: event, Reason: reasonTokenFell,
		Detail: fmt.Sprintf("c%d was granted the lock with token %d, c%d before it with %d", after.Process, after.Zxid, before.Process, before.Zxid)}
}

// byLock divides attempts by their locks. Where one names no node they stay together, as it may be of any.
func byLock(events []Event, all []attempted) [][]attempted {
	if slices.ContainsFunc(all, func(a attempted) bool { return events[a.granted].Path == "" }) {
		return [][]attempted{all}
	}
	var locks [][]attempted
	known := make(map[string]int)
	for _, a := range all {
		lock := directory(events[a.granted].Path)
		n, ok := known[lock]
		if !ok {
			n = len(locks)
			known[lock], locks = n, append(locks, nil)
		}
		locks[n] = append(locks[n], a)
	}
	return locks
}

// sameLock reports whether two grants are of one lock, as far as their nodes tell.
func sameLock(a, b *Event) bool {
	return a.Path == "" || b.Path == "" || directory(a.Path) == directory(b.Path)
}

func notLinearizableWithin(events []Event, clocks *Clocks, limits models.Limits) (*Violation, bool) {
	end := time.Duration(1<<63 - 1)
	spans := make(map[string][]operationWithin)
	var locks []string
	of := make(map[attemptKey][]int) // the events of an attempt
	for i := range events {
		key := attemptKey{events[i].Process, events[i].Attempt}
		of[key] = append(of[key], i)
	}
	for i := range events {
		e := &events[i]
		if e.Kind != LockReturn || e.Err != "" || e.Process == 0 {
			continue
		}
		acquire := operationWithin{models.Input{Process: e.Process, Verb: models.Acquire}, -end, clocks.latest(e)}
		release := operationWithin{models.Input{Process: e.Process, Verb: models.Release}, clocks.earliest(e), end}
		calledBack := false
		for _, j := range of[attemptKey{e.Process, e.Attempt}] {
			other := &events[j]
			switch other.Kind {
			case LockCall:
				acquire.from = clocks.earliest(other)
			case UnlockCall:
				if !calledBack {
					release.from = clocks.earliest(other)
				}
			case UnlockReturn:
				if other.Err == "" {
					release.till = clocks.latest(other)
				}
			case Lost: // The lock may have been gone for long.
				release.from, release.till, calledBack = clocks.earliest(e), end, true
			}
		}
		lock := directory(e.Path)
		if spans[lock] == nil {
			locks = append(locks, lock)
		}
		spans[lock] = append(spans[lock], acquire, release)
	}
	for _, lock := range locks {
		switch models.Check(models.Owner, withTimes(spans[lock]), limits) {
		case models.Unknown:
			return nil, false
		case models.Violated:
			return &Violation{Property: Linearizable, Event: len(events) - 1, Reason: reasonNoOrder,
				Detail: fmt.Sprintf("%d acquires and releases of c%d and others below %q", len(spans[lock]), spans[lock][0].input.Process, lock)}, true
		}
	}
	return nil, true
}

// A revision is a write that the resource accepted, and what its process knew and had by then, in its own order.
type revision struct {
	event   int
	version int64
	base    int64 // the version that the process had read or made last, -1 if none
	token   int64 // of its last grant, 0 if none
}

// revisions returns the writes of one resource in the order of their versions.
func revisions(events []Event) []revision {
	var all []revision
	bases, tokens := make(map[int32]int64), make(map[int32]int64)
	for i := range events {
		e := &events[i]
		switch {
		case e.Err != "":
		case e.Kind == LockReturn:
			tokens[e.Process] = e.Zxid
		case e.Kind == ResourceRead:
			bases[e.Process] = e.Zxid
		case e.Kind == ResourceWrite && e.Zxid != 0:
			r := revision{i, e.Zxid, -1, tokens[e.Process]}
			if base, ok := bases[e.Process]; ok {
				r.base, bases[e.Process] = base, e.Zxid
			}
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b revision) int { return cmp.Compare(a.version, b.version) })
	return all
}

func lostByVersion(events []Event) *Violation {
	all := revisions(events)
	for n := 1; n < len(all); n++ {
		w, before := &all[n], &all[n-1]
		if w.base >= 0 && w.base < before.version {
			return &Violation{Property: NoLostUpdate, Event: w.event, Reason: reasonLostUpdate,
				Detail: fmt.Sprintf("c%d made version %d of version %d, and overwrote version %d of c%d",
					events[w.event].Process, w.version, w.base, before.version, events[before.event].Process)}
		}
	}
	return nil
}

func lateByVersion(events []Event) *Violation {
	newest := revision{}
	for _, w := range revisions(events) {
		if w.token == 0 {
			continue
		}
		if w.token < newest.token {
			return &Violation{Property: FencedExclusion, Event: w.event, Reason: reasonLateWrite,
				Detail: fmt.Sprintf("c%d wrote with token %d, after c%d with %d", events[w.event].Process, w.token,
					events[newest.event].Process, newest.token)}
		}
		newest = w
	}
	return nil
}
