package scenarios

// A stateAware is a strategy that knows more of a run than its options: the state that it is in.
type stateAware interface {
	Strategy
	// join is called before the first decision of each run.
	join(*loop)
	// forward returns the next steps of a run that has gone so many already, if they are settled.
	settledSteps(steps int) []frame
}

// What is chosen that is no option.
const (
	// prune is what an insider chooses to end a run in a state whose future it knows.
	prune = -1
	// beginFair is what an insider or a Replay chooses to let the beginFair phase begin; see Fair.
	beginFair = -2
)

var _ stateAware = (*dfs)(nil)
