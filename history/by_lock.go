package history

import (
	"fmt"
	"iter"
	"slices"
)

// A LockHistory is what a history says of one of its locks.
type LockHistory struct {
	Lock   string  // its name, empty if the history names none
	Events []Event // in their order; good until the next lock is asked for

	all     []Event // the whole history
	indexes []int   // of Events in all; nil if they are the same
}

// An attemptKey names a call of Lock.
type attemptKey struct{ process, attempt int32 }

// ByLock returns what a history says of each of its locks, in the order in which they were first
// granted. Each attempt is of one lock, so a process may hold several locks at once, or ask for
// several.
//
// The LockReturn that grants the lock to an attempt names the lock: by Name, or else by the
// directory of the node in Path. If a history names one lock at most, all of it is of that lock. If
// it names several, attempts that name none are left out, because they may be of any lock; [Locks]
// counts them. An event that belongs to no attempt is of the lock whose directory holds its Path,
// or else of every lock.
//
// It takes time linear in the events; those that are of every lock count once for each.
func ByLock(events []Event) iter.Seq[*LockHistory] {
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

// Locks returns the names of a history's locks, in the order in which they were first granted, and
// how many attempts [ByLock] leaves out although they were granted a lock or entered the critical
// section.
func Locks(events []Event) (all []string, nameless int) {
	names := lockNames(events)
	if len(names.all) <= 1 {
		return names.all, 0
	}
	left := make(map[attemptKey]bool)
	for i := range events {
		e := &events[i]
		if e.Kind != Enter && (e.Kind != LockReturn || e.Err != "") {
			continue
		}
		key := attemptKey{e.Process, e.Attempt}
		if _, known := names.of[key]; !known {
			left[key] = true
		}
	}
	return names.all, len(left)
}

// Judge returns what a check finds in the history of the lock. The event of the violation, and
// those that its text names, have the indexes of the whole history. The check must ignore Tick
// events, and find the same with and without them.
func (h *LockHistory) Judge(check func([]Event) *Violation) *Violation {
	v := check(h.Events)
	if v == nil || h.indexes == nil {
		return v
	}
	// A text may name events by their indexes, so the check runs once more on events that have the
	// indexes of the whole history.
	spread := make([]Event, len(h.all))
	for i := range spread {
		spread[i] = Event{At: h.all[i].At, Kind: Tick}
	}
	for _, i := range h.indexes {
		spread[i] = h.all[i]
	}
	if again := check(spread); again != nil {
		v = again
	} else { // It has reached a limit of time.
		v.Event = h.indexes[v.Event]
	}
	v.Detail += fmt.Sprintf(", of the lock %s", h.Lock)
	return v
}

// A lockNaming says of which locks the attempts of a history are.
type lockNaming struct {
	all    []string
	number map[string]int // of each in all
	of     map[attemptKey]int
}

func lockNames(events []Event) *lockNaming {
	n := &lockNaming{number: make(map[string]int), of: make(map[attemptKey]int)}
	for i := range events {
		e := &events[i]
		if e.Kind != LockReturn || e.Err != "" {
			continue
		}
		name := e.Name
		if name == "" {
			name = directory(e.Path)
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

// divide returns the indexes of the events that belong to each of several locks, and of those that
// belong to all.
func (n *lockNaming) divide(events []Event) (shared []int, own [][]int) {
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

// lock returns the lock that an event belongs to, and false if it belongs to none or to one that is
// not known.
func (n *lockNaming) lock(e *Event) (lock int, known bool) {
	if e.Attempt != 0 {
		lock, known = n.of[attemptKey{e.Process, e.Attempt}]
		return lock, known
	}
	lock, known = n.number[directory(e.Path)]
	return lock, known
}

// merged appends two ascending lists of numbers that have none in common, in ascending order.
func merged(to, a, b []int) []int {
	to = append(append(to, a...), b...)
	slices.Sort(to)
	return to
}
