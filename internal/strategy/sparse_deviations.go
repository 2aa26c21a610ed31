package strategy

import (
	"github.com/interlock-sim/interlock/internal/engine"
	"github.com/interlock-sim/interlock/sim"
)

// A Sparse strategy follows the default policy except for a few random decisions. Removing
// deviations from a long schedule often cannot reach the shortest explanation of a failure, but
// there are few schedules with two or three deviations. (This is delay-bounded search, Emmi, Qadeer
// and Rakamarić, "Delay-Bounded Scheduling", POPL 2011, sampled, with any step in place of a
// delay.)
type Sparse struct {
	Source  *Random
	Left    int  // deviations still to be made
	Horizon int  // about how many decisions remain
	Fair    bool // the last deviation begins the fair phase
}

// Choose deviates from the default policy at a few random decisions.
func (s *Sparse) Choose(index int, enabled []sim.EnabledStep, defaultIndex int) int {
	if s.Left == 0 || len(enabled) < 2 {
		return defaultIndex
	}
	remaining := max(s.Horizon-index, s.Left)
	if int(s.Source.Below(uint64(remaining))) >= s.Left {
		return defaultIndex
	}
	if s.Left--; s.Left == 0 && s.Fair {
		return engine.BeginFair
	}
	return engine.UsualFirst(1+int(s.Source.Below(uint64(len(enabled)-1))), defaultIndex)
}
