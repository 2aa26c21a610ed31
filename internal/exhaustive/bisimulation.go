package exhaustive

import (
	"slices"
	"time"

	"github.com/interlock-sim/interlock/internal/replay"
	"github.com/interlock-sim/interlock/internal/searchmutation"
)

// A state is what the search knows of a state that it has entered: the local histories to which the
// processes had come, and where all continuations have led.
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
type state struct {
	histories     []*replay.LocalHistory
	crashed       uint64 // bit mask of processes; see without
	continuations []continuation
	equivalences  [][]equivalence // by process: local histories compared with its own
	other         *state          // with the same key
	open          bool            // some continuations are not known yet
}

// A continuation leads from a state to the next.
type continuation struct {
	to        *state                 // nil where the run ends
	histories []*replay.LocalHistory // to which the processes had come there
}

type equivalence struct {
	past  *replay.LocalHistory
	alike bool
}

// states are all that a search has entered.
type states struct {
	by    map[uint64]*state
	count int
}

// same reports whether the processes behave after these local histories as after those of the
// state.
func (x *dfs) same(s *state, histories []*replay.LocalHistory) bool {
	if searchmutation.Active == searchmutation.ByAppearance {
		return true
	}
	for i := range histories {
		if !s.without(i) && !x.equivalent(s, i, histories[i]) {
			return false
		}
	}
	return true
}

// without reports whether a process, counted from 0, is known to have crashed. From the 65th on it
// returns false, which only makes the search distinguish more states.
func (s *state) without(process int) bool { return s.crashed>>process&1 != 0 }

// crashed returns the mask of crashed processes of a [state].
func (x *dfs) crashed() (mask uint64) {
	for i := range x.view.Processes() {
		if x.view.Client(int32(i + 1)).Crashed() {
			mask |= 1 << i
		}
	}
	return mask
}

// equivalent reports whether a process behaves in the same way, on all continuations of a state,
// after its local history there and after another one.
func (x *dfs) equivalent(s *state, process int, p *replay.LocalHistory) bool {
	own := s.histories[process]
	if own == p {
		return true
	}
	if s.equivalences == nil {
		s.equivalences = make([][]equivalence, len(s.histories))
	}
	for _, known := range s.equivalences[process] {
		if known.past == p {
			return known.alike
		}
	}
	alike := x.actEquivalently(own, p)
	for i := 0; alike && i < len(s.continuations); i++ {
		alike = x.equivalentAfter(&s.continuations[i], process, own, p)
	}
	s.equivalences[process] = append(s.equivalences[process], equivalence{p, alike})
	return alike
}

// equivalentAfter reports the same for one continuation.
func (x *dfs) equivalentAfter(w *continuation, process int, own, p *replay.LocalHistory) bool {
	end := w.histories[process]
	var space [16]*replay.LocalHistory
	steps := space[:0]
	for at := end; at != own; at = at.Parent {
		steps = append(steps, at)
	}
	for _, step := range slices.Backward(steps) {
		p = x.Cache.Repeat(p, step)
		if p.Reacts != step.Reacts || !x.actEquivalently(step, p) {
			return false
		}
	}
	if w.to == nil || w.to.without(process) { // The run ends, or the process has crashed.
		return x.Cache.ProbeLeak(p) == x.Cache.ProbeLeak(end)
	}
	return x.equivalent(w.to, process, p)
}

// actEquivalently reports whether a process acts by itself in the same way after two local
// histories, as far as was predicted after the first.
func (x *dfs) actEquivalently(known, p *replay.LocalHistory) bool {
	if known.Outside != p.Outside {
		return false
	}
	within := known.PredictedUntil
	x.Cache.PredictTimers(p, within)
	return known.ActsAfter == actsWithin(p.ActsAfter, within) &&
		known.LostAfter == actsWithin(p.LostAfter, within)
}

func actsWithin(at, within time.Duration) time.Duration {
	if at > within {
		return replay.Never
	}
	return at
}
