package history

// A Sometimes is a situation that some run of a campaign must reach. If no run does, the campaign
// has not tested what it is meant to test, and fails.
//
// Source: the sometimes properties of Stateright and Antithesis.
type Sometimes struct {
	Name    string // in a few words
	Clients int    // the number of processes that it needs, with a lock of one place
	Fault   string // the name of the fault that it needs, or empty

	// Reached reports whether the history reaches the situation. It depends on the events alone.
	Reached func([]Event) bool
}
