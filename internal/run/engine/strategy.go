package engine

import (
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/sim"
)

// A Strategy decides what happens next in a run.
type Strategy interface {
	// Choose returns the index of one of the enabled steps, which are in canonical order. At least
	// one step is enabled. Index is the number of decisions before this one in the run, and
	// defaultIndex the step that the default policy takes.
	Choose(index int, enabled []sim.EnabledStep, defaultIndex int) int
}

// A stateAware strategy also sees the state of the run.
type stateAware interface {
	Strategy
	// Join is called before the first decision of each run.
	Join(View)
	// Settled returns the step that follows after the given number of steps and whether it deviates
	// from the default policy, if the strategy has decided on that step before the run. If ok is
	// false, the strategy has to choose there.
	Settled(steps int) (step sim.Step, deviates, ok bool)
}

// A watching strategy sees the state of the run when it chooses, and nothing else about the run
// differs.
type watching interface {
	Strategy
	// Watch is called before the first decision of each run.
	Watch(View)
}

// Watch lets a strategy see the state of the run if it watches.
func Watch(s Strategy, view View) {
	if w, ok := s.(watching); ok {
		w.Watch(view)
	}
}

// A monitoring strategy has a monitor for each claim, and for each guarantee of the service, that
// can have one; see [check.Monitor].
type monitoring interface {
	// Unjudged returns the claims and guarantees on which the monitors give no verdict, of a run
	// that has ended or was pruned. Ok is false if a monitor has found a violation: then all have
	// to be checked.
	Unjudged(log []history.Event, ended bool) (left []history.Property, ok bool)
}

// What [Strategy.Choose] may return instead of the index of an enabled step; see also [Ask].
const (
	Prune     = -1 // ends the run, in a state whose future the search knows
	BeginFair = -2 // begins the fair phase; see [sim.Fair]
)

// Ask returns what [Strategy.Choose] returns to ask for a step that is [sim.Step.Unlisted].
func Ask(step sim.Step) int {
	asked := int(step.Kind-sim.Fair) << askedBits
	switch step.Kind {
	case sim.Shift:
		asked += int(step.Process-sim.RelayTimer)<<8 + int(step.Peer)
	case sim.Pass:
		asked += int(step.For)
	}
	return BeginFair - asked
}

// askedBits is the number of bits for what a step says besides its kind: [sim.PassMax] fits.
const askedBits = 42

// Chosen returns the step of a choice other than [Prune].
func Chosen(choice int, enabled []sim.EnabledStep) sim.Step {
	if choice >= 0 {
		return enabled[choice].Step
	}
	asked := BeginFair - choice
	step := sim.Step{Kind: sim.Fair + sim.StepKind(asked>>askedBits)}
	switch step.Kind {
	case sim.Shift:
		step.Process, step.Peer = int32(asked>>8&0xff)+sim.RelayTimer, uint8(asked)
	case sim.Pass:
		step.For = time.Duration(asked & (1<<askedBits - 1))
	}
	return step
}
