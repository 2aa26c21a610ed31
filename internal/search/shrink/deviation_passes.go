package shrink

import (
	"slices"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/sim"
)

// fewerDeviations tries to remove deviations, and reports whether it could.
func (s *shrinker) fewerDeviations() bool {
	return s.dropUseless() || s.dropChunks(unitBounds) || s.dropInOrder() || s.joinGroups() ||
		s.swapProcesses() || s.dropChunks(singleBounds) || s.earlierFair()
}

// dropped tries the schedule without some deviations.
func (s *shrinker) dropped(from, to int) bool {
	return s.replay(s.scenario, slices.Concat(s.deviations[:from], s.deviations[to:]))
}

// dropUseless drops the deviations after the violation.
func (s *shrinker) dropUseless() bool {
	kept := 0
	for kept < len(s.deviations) && s.deviations[kept].Index < s.useful {
		kept++
	}
	return kept < len(s.deviations) && s.dropped(kept, len(s.deviations))
}

// dropChunks drops chunks of halving size, which is the first half of delta debugging (Zeller and
// Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE TSE 2002). The function
// divides deviations into the smallest chunks.
func (s *shrinker) dropChunks(divide func([]engine.Deviation) [][2]int) (found bool) {
	bounds := divide(s.deviations)
	for size := len(bounds); size >= 1; size /= 2 {
		// From the end: what comes early decides what the rest means.
		for end := len(bounds); end > 0; end -= size {
			if s.dropped(bounds[max(0, end-size)][0], bounds[end-1][1]) {
				found, bounds = true, divide(s.deviations)
				end = min(end, len(bounds))
			}
		}
	}
	return found
}

// dropInOrder drops the steps from the first to the last of a group, or one deviation, and keeps
// the order of all others.
func (s *shrinker) dropInOrder() bool {
	for _, group := range slices.Backward(groups(s.deviations)) {
		first, last := group[0].Index, group[len(group)-1].Index
		if s.follow(s.scenario, slices.Delete(slices.Clone(s.steps), first, last+1)) {
			return true
		}
		for _, d := range group {
			if s.follow(s.scenario, slices.Delete(slices.Clone(s.steps), d.Index, d.Index+1)) {
				return true
			}
		}
	}
	return false
}

// joinGroups moves a group behind an earlier one, or before a later one, of the same process.
func (s *shrinker) joinGroups() bool {
	all := groups(s.deviations)
	for i, moved := range all {
		for j, other := range all {
			if i != j && together(moved[0].Step, other[0].Step) &&
				s.follow(s.scenario, joined(s.steps, moved, other)) {
				return true
			}
		}
	}
	return false
}

// joined moves the steps of a group next to those of another one.
func joined(steps []sim.Step, moved, other group) []sim.Step {
	isMoved := func(index int) bool {
		return slices.ContainsFunc(moved,
			func(d engine.Deviation) bool { return d.Index == index })
	}
	to := other[0].Index
	if to < moved[0].Index {
		to = other[len(other)-1].Index + 1
	}
	var all []sim.Step
	for i := 0; i <= len(steps); i++ {
		if i == to {
			for _, d := range moved {
				all = append(all, d.Step)
			}
		}
		if i < len(steps) && !isMoved(i) {
			all = append(all, steps[i])
		}
	}
	return all
}

// swapProcesses lets two processes change places, because the default policy takes the process with
// the lower number first.
func (s *shrinker) swapProcesses() bool {
	for one := 1; one <= s.scenario.Clients; one++ {
		for other := 1; other < one; other++ {
			if s.follow(s.scenario, swapped(s.steps, int32(one), int32(other))) {
				return true
			}
		}
	}
	return false
}

func swapped(steps []sim.Step, one, other int32) []sim.Step {
	steps = slices.Clone(steps)
	for i := range steps {
		switch processOf(steps[i]) {
		case one:
			steps[i].Process += other - one
		case other:
			steps[i].Process += one - other
		}
	}
	return steps
}

// earlierFair begins the fair phase earlier, if the failure is one of that phase.
func (s *shrinker) earlierFair() bool {
	return s.fairPhase && s.fairAfter(s.scenario, s.deviations)
}
