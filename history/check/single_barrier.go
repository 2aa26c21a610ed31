package check

import (
	"fmt"
	"slices"

	"github.com/interlock-sim/interlock/history"
)

const reasonPassedSet = "a process passed a barrier while it was set"

// A singleBarrier is what the calls show of a barrier that exclusive calls of Lock set, that their
// Unlock removes, and at which shared calls of Lock wait.
type singleBarrier struct {
	setter int32 // the process that has set it, while it must be set; otherwise 0
	// the exclusive calls of Lock and Unlock that have not returned, and failed Unlocks, which may
	// still be carried out
	changing int
	waiters  []waiter // by process, from its shared call of Lock to its next call of Lock
}

// A waiter is a process whose last call of Lock was shared.
type waiter struct {
	process int32
	blocked bool // the barrier was set at all times of the call
}

func (b *singleBarrier) reset() { b.setter, b.changing, b.waiters = 0, 0, b.waiters[:0] }

func (b *singleBarrier) copy(other *singleBarrier) {
	b.setter, b.changing = other.setter, other.changing
	b.waiters = append(b.waiters[:0], other.waiters...)
}

func (b *singleBarrier) state(s *State) {
	s.fold(uint64(uint32(b.setter)), uint64(b.changing))
	for _, w := range b.waiters {
		s.fold(uint64(uint32(w.process)), bit(w.blocked, 0))
	}
}

// observe reports whether the event is of a shared call, and the process that has set the barrier
// if the call has returned too early.
func (b *singleBarrier) observe(e *history.Event) (shared bool, setter int32) {
	n, waits := slices.BinarySearchFunc(b.waiters, e.Process, func(w waiter, process int32) int {
		return int(w.process) - int(process)
	})
	switch e.Kind {
	case history.LockCall:
		if waits {
			b.waiters = slices.Delete(b.waiters, n, n+1)
		}
		if !e.Shared() {
			b.change()
			return false, 0
		}
		b.waiters = slices.Insert(b.waiters, n, waiter{e.Process, b.setter != 0})
		return true, 0
	case history.LockReturn:
		if waits {
			if e.Err == "" && b.waiters[n].blocked {
				return true, b.setter
			}
			return true, 0
		}
		b.changing--
		if e.Err == "" && b.changing == 0 {
			b.setter = e.Process
		}
	case history.UnlockCall:
		if !waits {
			b.change()
		}
	case history.UnlockReturn:
		if !waits && e.Err == "" {
			b.changing--
		}
	}
	return waits, 0
}

// change begins an exclusive call: from now on the barrier need not be set.
func (b *singleBarrier) change() {
	b.changing++
	b.setter = 0
	for n := range b.waiters {
		b.waiters[n].blocked = false
	}
}

// passedSet is the violation of a process that passes a barrier that another has set.
func passedSet(e *history.Event, i int, setter int32) *history.Violation {
	return &history.Violation{
		Property: history.NoEarlyPass, Event: i, Reason: reasonPassedSet,
		Detail: fmt.Sprintf("c%d's Lock of attempt %d returned, but from its call on the barrier "+
			"was set by c%d", e.Process, e.Attempt, setter),
		Evidence: history.Evidence{Process: e.Process, Other: setter},
	}
}
