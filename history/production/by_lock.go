package production

import (
	"fmt"
	"iter"
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// A LockHistory is the part of a history that concerns one lock.
type LockHistory struct {
	Lock   string          // its name, empty if the history names none
	Events []history.Event // in order; valid until the next iteration

	all     []history.Event // the whole history
	indexes []int           // the indexes of Events in all; nil if Events is all
}

// An attemptKey identifies a call of Lock.
type attemptKey struct{ process, attempt int32 }

// ByLock iterates over the locks of a history in the order of their first grants. Each attempt is
// for one lock, so a process may hold or request several locks at once.
//
//   - The LockReturn that grants a lock to an attempt names the lock, by Name or else by the
//     directory of the node in Path.
//   - If a history names at most one lock, all events are of that lock.
//   - If it names several, attempts that name none are left out, because their lock is unknown;
//     [Locks] counts them.
//   - An event without an attempt belongs to the lock whose directory contains its Path, or else to
//     every lock.
//
// It takes time linear in the events, where an event of every lock counts once for each lock.
func ByLock(events []history.Event) iter.Seq[*LockHistory] {
	names := lockNames(events)
	return func(yield func(*LockHistory) bool) {
		if len(names.all) <= 1 {
			one := &LockHistory{Events: events, all: events}
			if len(names.all) == 1 {
				one.Lock = names.all[0]
			}
			yield(one)
			return
		}
		shared, own := names.divide(events)
		one := &LockHistory{all: events}
		for lock, name := range names.all {
			one.Lock = name
			one.indexes = merged(one.indexes[:0], shared, own[lock])
			one.Events = one.Events[:0]
			for _, i := range one.indexes {
				one.Events = append(one.Events, events[i])
			}
			if !yield(one) {
				return
			}
		}
	}
}

// Locks returns the names of the locks of a history in the order of their first grants. It also
// returns the number of attempts that [ByLock] leaves out although they were granted a lock or
// entered the critical section.
func Locks(events []history.Event) (all []string, nameless int) {
	names := lockNames(events)
	if len(names.all) <= 1 {
		return names.all, 0
	}
	left := make(map[attemptKey]bool)
	for i := range events {
		e := &events[i]
		if e.Kind != history.Enter && (e.Kind != history.LockReturn || e.Err != "") {
			continue
		}
		key := attemptKey{e.Process, e.Attempt}
		if _, known := names.of[key]; !known {
			left[key] = true
		}
	}
	return names.all, len(left)
}

// Judge returns what a check finds in the history of the lock. The event of the violation, and the
// events that its text names, have the indexes of the whole history. The check must return the same
// with and without Tick events.
func (h *LockHistory) Judge(check func([]history.Event) *history.Violation) *history.Violation {
	all := h.judgeAll(func(events []history.Event) []*history.Violation {
		if v := check(events); v != nil {
			return []*history.Violation{v}
		}
		return nil
	})
	if len(all) == 0 {
		return nil
	}
	return all[0]
}

// judgeAll is Judge for a check that returns all violations.
func (h *LockHistory) judgeAll(check func([]history.Event) []*history.Violation,
) []*history.Violation {
	all := check(h.Events)
	if len(all) == 0 || h.indexes == nil {
		return all
	}
	// The text may name events by their indexes, so the check runs again on events that have the
	// indexes of the whole history.
	spread := make([]history.Event, len(h.all))
	for i := range spread {
		spread[i] = history.Event{At: h.all[i].At, Kind: history.Tick}
	}
	for _, i := range h.indexes {
		spread[i] = h.all[i]
	}
	if again := check(spread); len(again) > 0 {
		all = again
	} else { // The check has reached a time limit.
		for _, v := range all {
			v.Event = h.indexes[v.Event]
			for i, event := range v.Evidence.Events {
				v.Evidence.Events[i] = h.indexes[event]
			}
		}
	}
	for _, v := range all {
		v.Detail += fmt.Sprintf(", of the lock %s", h.Lock)
	}
	return all
}

// A lockNaming maps the attempts of a history to their locks.
type lockNaming struct {
	all    []string
	number map[string]int // the index of each name in all
	of     map[attemptKey]int
}

func lockNames(events []history.Event) *lockNaming {
	n := &lockNaming{number: make(map[string]int), of: make(map[attemptKey]int)}
	for i := range events {
		e := &events[i]
		if e.Kind != history.LockReturn || e.Err != "" {
			continue
		}
		name := e.Name
		if name == "" {
			name = history.Directory(e.Path)
		}
		if name == "" {
			continue
		}
		number, known := n.number[name]
		if !known {
			number = len(n.all)
			n.number[name], n.all = number, append(n.all, name)
		}
		n.of[attemptKey{e.Process, e.Attempt}] = number
	}
	return n
}

// divide returns the indexes of the events of each lock, and of those that belong to every lock.
func (n *lockNaming) divide(events []history.Event) (shared []int, own [][]int) {
	own = make([][]int, len(n.all))
	for i := range events {
		lock, known := n.lock(&events[i])
		switch {
		case known:
			own[lock] = append(own[lock], i)
		case events[i].Attempt == 0:
			shared = append(shared, i)
		}
	}
	return shared, own
}

// lock returns the lock that an event belongs to. It returns false if the event belongs to every
// lock or its lock is unknown.
func (n *lockNaming) lock(e *history.Event) (lock int, known bool) {
	if e.Attempt != 0 {
		lock, known = n.of[attemptKey{e.Process, e.Attempt}]
		return lock, known
	}
	lock, known = n.number[history.Directory(e.Path)]
	return lock, known
}

// merged appends two disjoint ascending lists of numbers, in ascending order.
func merged(to, a, b []int) []int {
	to = append(append(to, a...), b...)
	slices.Sort(to)
	return to
}
