package scenarios

// symmetric reports whether a step has an equivalent of a lower number: of the processes that
// nothing has touched yet, only the first need move. A schedule in which another one moves becomes
// one that is searched if the two swap names from beginning to end (Ip and Dill, "Better
// Verification Through Symmetry", 1996, restricted to such states).
//
// Processes are not quite alike, so symmetry is an option: each has its own randomness and its own
// znode names, which decide the order of listings. A lock whose behaviour depends on that can pass
// a symmetric search and have a defect.
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
