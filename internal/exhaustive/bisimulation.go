package exhaustive

import (
	"iter"
	"slices"
	"time"

	"github.com/interlock-sim/interlock/internal/flat"
	"github.com/interlock-sim/interlock/internal/hash64"
	"github.com/interlock-sim/interlock/internal/replay"
	"github.com/interlock-sim/interlock/internal/searchmutation"
	"github.com/interlock-sim/interlock/internal/stateset"
)

// A state is the number of a state that the search has stored, from 1; 0 is none. Its record holds
// what the search knows of it: the local histories to which the processes had come, and where all
// continuations have led.
//
// A state's key covers what is visible from outside: the ensemble, and what each process does and
// waits for, but not what the process has lived through. So a process may reach the state by
// another local history. The search need not enter the state again if that makes no difference to
// what the code of the process does. This is not guessed but tested: the code runs, after the new
// local history, through all inputs that have come after the old one, on all continuations of the
// state, and must react in the same way. If all processes do, every schedule that continues from
// here has a counterpart in the state that was entered, in which the ensemble and all processes do
// the same.
//
// This is the algorithm of Hopcroft and Karp ("A Linear Algorithm for Testing Equivalence of Finite
// Automata", 1971), applied to each process and to the part of its automaton that the search
// explores. If a process reacts differently, the search enters the state as another one with the
// same key.
type state uint32

// A stateRecord is what is known of a state. A search has millions of them.
type stateRecord struct {
	key       uint64
	histories uint32 // number of a tuple
	flags     uint32 // stateOpen, and a bit mask of processes; see without
	other     state  // with the same key, stored before
	last      uint32 // number of the last continuation + 1, or 0; see [states.continuationsOf]
}

// stateOpen says that some continuations are not known yet.
const stateOpen = 1 << 31

// A continuation leads from a state to the next.
type continuation struct {
	to        state  // 0 where the run ends
	histories uint32 // tuple of those to which the processes of the first state had come there
	next      uint32 // number of the next continuation of the state; after the last, of the first
}

// states are all that a search has stored.
type states struct {
	records       flat.List[stateRecord] // by state - 1
	byKey         flat.Index             // of the last state stored with each key
	continuations flat.List[continuation]
	histories     flat.Tuples[replay.LocalHistory]
	// Pairs of a state and a local history, by the result of comparing that with the local history
	// of its process in the state; see pairKey.
	alike, unlike stateset.Set
}

func (s *states) record(of state) *stateRecord { return s.records.At(uint32(of) - 1) }

// withKey returns the last state stored with the key, or 0.
func (s *states) withKey(key uint64) state {
	number, ok := s.byKey.Find(key, func(number uint32) bool {
		return s.records.At(number).key == key
	})
	if !ok {
		return 0
	}
	return state(number + 1)
}

// add stores a state whose continuations are not known yet. The mask is of processes that have
// crashed.
func (s *states) add(key uint64, histories []replay.LocalHistory, crashed uint32) state {
	other := s.withKey(key)
	number := s.records.Append(stateRecord{
		key: key, histories: s.histories.Number(histories), flags: crashed | stateOpen,
		other: other,
	})
	if other != 0 {
		s.byKey.Replace(key, uint32(other)-1, number)
	} else {
		s.byKey.Add(key, number, func(number uint32) uint64 { return s.records.At(number).key })
	}
	return state(number + 1)
}

// close notes that all continuations of a state are known.
func (s *states) close(of state) { s.record(of).flags &^= stateOpen }

// historiesOf returns the local histories to which the processes had come in a state.
func (s *states) historiesOf(of state) []replay.LocalHistory {
	return s.histories.At(s.record(of).histories)
}

// addContinuation stores that a continuation of a state leads to another one, or to the end of the
// run, with these local histories. Processes that have joined since do not matter.
func (s *states) addContinuation(from, to state, histories []replay.LocalHistory) {
	r := s.record(from)
	w := continuation{
		to: to, histories: s.histories.Number(histories[:len(s.historiesOf(from))]),
	}
	if r.last == 0 {
		w.next = uint32(s.continuations.Len())
		r.last = s.continuations.Append(w) + 1
		return
	}
	last := s.continuations.At(r.last - 1)
	w.next = last.next
	last.next = s.continuations.Append(w)
	r.last = last.next + 1
}

// continuationsOf returns the continuations of a state in the order in which they were added.
func (s *states) continuationsOf(of state) iter.Seq[continuation] {
	return func(yield func(continuation) bool) {
		end := s.record(of).last
		for at := end; at != 0; {
			at = s.continuations.At(at-1).next + 1
			if !yield(*s.continuations.At(at - 1)) || at == end {
				return
			}
		}
	}
}

// same reports whether the processes behave after these local histories as after those of the
// state.
func (x *dfs) same(s state, histories []replay.LocalHistory) bool {
	if searchmutation.Active == searchmutation.ByAppearance {
		return true
	}
	for i := range histories {
		if !x.states.without(s, i) && !x.equivalent(s, i, histories[i]) {
			return false
		}
	}
	return true
}

// without reports whether a process, counted from 0, is known to have crashed. From the 32nd on it
// returns false, which only makes the search distinguish more states.
func (s *states) without(of state, process int) bool {
	return s.record(of).flags&^stateOpen>>process&1 != 0
}

// crashed returns the mask of crashed processes of a [stateRecord].
func (x *dfs) crashed() (mask uint32) {
	for i := range x.view.Processes() {
		if x.view.Client(int32(i + 1)).Crashed() {
			mask |= 1 << i
		}
	}
	return mask &^ stateOpen
}

// equivalent reports whether a process behaves in the same way, on all continuations of a state,
// after its local history there and after another one.
func (x *dfs) equivalent(s state, process int, h replay.LocalHistory) bool {
	own := x.states.historiesOf(s)[process]
	if own == h {
		return true
	}
	pair := pairKey(s, h)
	if x.states.alike.Has(pair) {
		return true
	}
	if x.states.unlike.Has(pair) {
		return false
	}
	alike := x.actEquivalently(own, h)
	if alike {
		for w := range x.states.continuationsOf(s) {
			if alike = x.equivalentAfter(w, process, own, h); !alike {
				break
			}
		}
	}
	if alike {
		x.states.alike.Add(pair)
	} else {
		x.states.unlike.Add(pair)
	}
	return alike
}

// pairKey returns a key of a state and a local history. Different pairs have different keys.
func pairKey(s state, h replay.LocalHistory) uint64 {
	return hash64.Mix(0, uint64(s)<<32|uint64(h))
}

// equivalentAfter reports the same for one continuation.
func (x *dfs) equivalentAfter(w continuation, process int, own, h replay.LocalHistory) bool {
	end := x.states.histories.At(w.histories)[process]
	var space [16]replay.LocalHistory
	steps := space[:0]
	for at := end; at != own; at = x.Cache.Parent(at) {
		steps = append(steps, at)
	}
	for _, step := range slices.Backward(steps) {
		h = x.Cache.Repeat(h, step)
		if x.Cache.Reacts(h) != x.Cache.Reacts(step) || !x.actEquivalently(step, h) {
			return false
		}
	}
	if w.to == 0 || x.states.without(w.to, process) { // The run ends, or the process has crashed.
		return x.Cache.ProbeLeak(h) == x.Cache.ProbeLeak(end)
	}
	return x.equivalent(w.to, process, h)
}

// actEquivalently reports whether a process acts by itself in the same way after two local
// histories, as far as was predicted after the first.
func (x *dfs) actEquivalently(known, h replay.LocalHistory) bool {
	if x.Cache.Outside(known) != x.Cache.Outside(h) {
		return false
	}
	of := x.Cache.Prediction(known)
	p := x.Cache.PredictTimers(h, of.Until)
	return of.ActsAfter == actsWithin(p.ActsAfter, of.Until) &&
		of.LostAfter == actsWithin(p.LostAfter, of.Until)
}

func actsWithin(at, within time.Duration) time.Duration {
	if at > within {
		return replay.Never
	}
	return at
}
