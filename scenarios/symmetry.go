package scenarios

// symmetric tells whether a step has a twin with a lower number: of the processes to which nothing
// has happened yet, only the first need move. Any schedule in which another of them does becomes
// one that is searched if the two change names from beginning to end (Ip and Dill, "Better
// Verification Through Symmetry", 1996, with nothing but such states).
//
// Processes are not quite alike, so a search has to be asked for this: each has its own randomness
// and its own names of nodes, which decide in what order listings show them. A lock whose behaviour
// depends on that can pass a symmetric search and be broken.
func (x *dfs) symmetric(step Step) bool {
	if step.Process <= 0 || !x.loop.untouched(step.Process) {
		return false
	}
	for number := int32(1); number < step.Process; number++ {
		if x.loop.untouched(number) {
			return true
		}
	}
	return false
}
