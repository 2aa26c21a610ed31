package scenarios

// A stateAware strategy also sees the state of the run.
type stateAware interface {
	Strategy
	join(*loop) // join is called before the first decision of each run.
	// settled returns the step that follows on the given number of steps, and whether it deviates
	// from the default policy, if it is settled: then the strategy has nothing to choose there.
	settled(steps int) (step Step, deviates, ok bool)
}

// What is chosen that is no option.
const (
	prune     = -1 // prune ends a run in a state whose future the search knows.
	beginFair = -2 // beginFair begins the fair phase; see [Fair].
)

var _ stateAware = (*dfs)(nil)
