package scenarios

// A stateAware is a strategy that knows more of a run than its options: the state that it is in.
type stateAware interface {
	Strategy
	// join is called before the first decision of each run.
	join(*loop)
	// settled returns the step that follows on the given number of steps, and whether it deviates
	// from the default policy, if it is settled: then the strategy has nothing to choose there.
	settled(steps int) (step Step, deviates, ok bool)
}

// What is chosen that is no option.
const (
	// prune is what an insider chooses to end a run in a state whose future it knows.
	prune = -1
	// beginFair is what an insider or a Replay chooses to let the beginFair phase begin; see Fair.
	beginFair = -2
)

var _ stateAware = (*dfs)(nil)
