package scenarios

// An insider is a strategy that knows more of a run than its options: the state that it is in.
type insider interface {
	Strategy
	// join is called before the first decision of each run.
	join(*loop)
	// forward returns the next steps of a run that has gone so many already, if they are settled.
	forward(steps int) []branch
}

// known is what an insider chooses to end a run in a state whose future it knows.
const known = -1
