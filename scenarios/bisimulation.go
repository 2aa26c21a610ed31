package scenarios

import (
	"slices"
	"time"
)

// A state is what a search knows of one that it has entered: to which pasts the processes had come,
// and where all ways on from there have led.
//
// By its key a state is known by what can be seen from outside: the ensemble, and of each process
// what it does and waits for, but not by what the process has lived through. So a process may come
// to a state that was entered by another past. Then the search need not enter it again if that
// makes no difference to what the process's code does. Whether it does is not guessed, it is tried:
// the code is run after the one past upon everything that has come up after the other, on all ways
// on from the state, and must do the same. If all processes do, whatever can happen in the state
// has happened where it was entered: each schedule that goes on from it has a counterpart there in
// which the ensemble and all processes do the same. This is what Hopcroft and Karp ("A Linear
// Algorithm for Testing Equivalence of Finite Automata", 1971) do to decide whether two states of
// an automaton can be told apart, for each process by itself and on that part of the automaton that
// comes up.
//
// Where a process does not do the same the state is entered as another one with the same key.
type state struct {
	pasts         []*localHistory
	crashed       uint64 // the processes that have; see without
	continuations []continuation
	equivalences  [][]equivalence // of each process, pasts that were compared with its own
	other         *state          // with the same key
	open          bool            // not all ways on are known yet
}

// A continuation leads from a state to the next.
type continuation struct {
	to    *state          // nil where the run comes to its end
	pasts []*localHistory // to which the processes had come there
}

type equivalence struct {
	past  *localHistory
	alike bool
}

// states are all that a search has entered.
type states struct {
	by    map[uint64]*state
	count int
}

// same tells whether what the processes do in a state after these pasts is what they do after its
// own.
func (x *dfs) same(s *state, pasts []*localHistory) bool {
	if mutated == byAppearance {
		return true
	}
	for i := range pasts {
		if !s.without(i) && !x.equivalent(s, i, pasts[i]) {
			return false
		}
	}
	return true
}

// without tells whether a process, counted from 0, is known to have crashed. From the 65th on none
// is, which makes a search tell more states apart and nothing else.
func (s *state) without(process int) bool { return s.crashed>>process&1 != 0 }

// crashed returns the processes that have crashed, as in a [state].
func (x *dfs) crashed() (mask uint64) {
	for i, p := range x.loop.processes {
		if p.link.Crashed() {
			mask |= 1 << i
		}
	}
	return mask
}

// equivalent tells whether a process does the same, on all ways on from a state, after its past
// there and after another one.
func (x *dfs) equivalent(s *state, process int, p *localHistory) bool {
	own := s.pasts[process]
	if own == p {
		return true
	}
	if s.equivalences == nil {
		s.equivalences = make([][]equivalence, len(s.pasts))
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

// equivalentAfter tells the same of one way on.
func (x *dfs) equivalentAfter(w *continuation, process int, own, p *localHistory) bool {
	end := w.pasts[process]
	var space [16]*localHistory
	steps := space[:0]
	for at := end; at != own; at = at.parent {
		steps = append(steps, at)
	}
	for _, step := range slices.Backward(steps) {
		p = x.cache.extend(p, step.after, step.inputs)
		if p.reacts != step.reacts || !x.actEquivalently(step, p) {
			return false
		}
	}
	if w.to == nil || w.to.without(process) { // The run ends, or the process has crashed.
		return x.cache.probeLeak(p) == x.cache.probeLeak(end)
	}
	return x.equivalent(w.to, process, p)
}

// actEquivalently tells whether a process does the same by itself after two pasts, as far as was
// asked after the first.
func (x *dfs) actEquivalently(known, p *localHistory) bool {
	if known.outside != p.outside {
		return false
	}
	within := known.predictedUntil
	x.cache.predictTimers(p, within)
	return known.actsAfter == actsWithin(p.actsAfter, within) &&
		known.lostAfter == actsWithin(p.lostAfter, within)
}

func actsWithin(at, within time.Duration) time.Duration {
	if at > within {
		return never
	}
	return at
}
