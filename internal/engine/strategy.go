package engine

import "github.com/interlock-sim/interlock/sim"

// A Strategy decides what happens next in a run.
type Strategy interface {
	// Choose returns the index of one of the options, of which there is at least one, in canonical
	// order. Index is how many decisions the run has seen before, and usual the option that the
	// default policy takes.
	Choose(index int, enabled []sim.EnabledStep, defaultIndex int) int
}

// A stateAware strategy also sees the state of the run.
type stateAware interface {
	Strategy
	Join(View) // join is called before the first decision of each run.
	// Settled returns the step that follows on the given number of steps, and whether it deviates
	// from the default policy, if it is settled: then the strategy has nothing to choose there.
	Settled(steps int) (step sim.Step, deviates, ok bool)
}

// What is chosen that is no option.
const (
	Prune     = -1 // prune ends a run in a state whose future the search knows.
	BeginFair = -2 // BeginFair begins the fair phase; see [sim.Fair].
)
