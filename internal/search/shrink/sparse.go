package shrink

import (
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/sim"
)

// A sparse strategy follows the default policy except at a few random decisions. From each of these
// on, one process takes several steps in a row, or time passes for several ticks, or a fault
// strikes. Removing deviations from a long schedule often cannot reach the shortest explanation of
// a failure, but there are few schedules with two or three switches. (This is context-bounded
// search, Musuvathi and Qadeer, "Iterative Context Bounding", PLDI 2007, sampled, with the default
// policy in place of one that never switches.)
type sparse struct {
	source  *strategy.Random
	left    int  // switches still to be made
	horizon int  // about how many decisions remain
	fair    bool // the last switch begins the fair phase

	first sim.Step // of the group under way
	steps int      // how many steps that still has
}

// Choose deviates from the default policy at a few random decisions.
func (s *sparse) Choose(index int, enabled []sim.EnabledStep, defaultIndex int) int {
	if s.steps > 0 {
		s.steps--
		for i := range enabled {
			if together(s.first, enabled[i].Step) {
				return i
			}
		}
		s.steps = 0
	}
	if s.left == 0 || len(enabled) < 2 {
		return defaultIndex
	}
	remaining := max(s.horizon-index, s.left)
	if int(s.source.Below(uint64(remaining))) >= s.left {
		return defaultIndex
	}
	if s.left--; s.left == 0 && s.fair {
		return engine.BeginFair
	}
	chosen := engine.UsualFirst(1+int(s.source.Below(uint64(len(enabled)-1))), defaultIndex)
	s.first = enabled[chosen].Step
	s.steps = s.length(enabled[chosen].Step)
	return chosen
}

// length draws how many steps follow on the first one of a group.
func (s *sparse) length(first sim.Step) int {
	most := uint64(4)
	if first.Kind == sim.Tick {
		most = ticksMax
	}
	if s.source.Below(2) == 0 {
		return 0
	}
	return int(s.source.Below(most))
}

// ticksMax is enough ticks for a session to expire.
const ticksMax = 12
