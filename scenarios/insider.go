package scenarios

// An insider is a strategy that knows more of a run than its options: the state that it is in.
type insider interface {
	Strategy
	// join is called before the first decision of each run.
	join(*loop)
	// forward returns the next steps of a run that has gone so many already, if they are settled.
	forward(steps int) []branch
}

// What is chosen that is no option.
const (
	// known is what an insider chooses to end a run in a state whose future it knows.
	known = -1
	// fair is what an insider or a Replay chooses to let the fair phase begin; see Fair.
	fair = -2
)
