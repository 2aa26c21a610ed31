package exhaustive

import (
	"slices"

	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/internal/search/replay"
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
	flags     uint32 // stateOpen, and a bit mask of processes; see without; accessed atomically
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

// same reports whether the processes behave after these local histories as after those of the
// state.
func (x *dfs) same(s state, histories []replay.LocalHistory) bool {
	for i := range histories {
		if !x.states.without(s, i) && !x.equivalent(s, i, histories[i]) {
			return false
		}
	}
	return true
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
	if alike, known := x.states.compared.Get(pair); known {
		return alike
	}
	alike := x.actEquivalently(own, h)
	if alike {
		for w := range x.states.continuationsOf(s) {
			if alike = x.equivalentAfter(w, process, own, h); !alike {
				break
			}
		}
	}
	x.states.compared.Put(pair, alike)
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

// actEquivalently reports whether a process is the same from outside after two local histories, and
// its first timer fires at the same time, if one does while the first was looked at.
func (x *dfs) actEquivalently(known, h replay.LocalHistory) bool {
	if x.Cache.Outside(known) != x.Cache.Outside(h) {
		return false
	}
	of := x.Cache.Prediction(known)
	return of.FiresWithin(of.Until) == x.Cache.FiresWithin(h, of.Until) &&
		of.Loses() == x.Cache.Prediction(h).Loses()
}
