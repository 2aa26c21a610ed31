package scenarios

// A Strategy decides what happens next in a run.
type Strategy interface {
	// Choose returns the index of one of the options, of which there is at least one, in canonical order. Index is
	// how many decisions the run has seen before, and usual the option that the default policy takes.
	Choose(index int, options []Option, usual int) int
}
