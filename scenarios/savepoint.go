package scenarios

import "slices"

// A savepoint is what the run under way of an exhaustive search has begun with, to which the search
// goes back if it is abandoned.
type savepoint struct {
	way int // its length
	// the keys that the run was the first to come to, if they are going to be written down
	fresh []uint64
}

// setSavepoint notes what the next run begins with.
func (x *dfs) setSavepoint() {
	x.savepoint.way, x.savepoint.fresh = len(x.path),
		x.savepoint.fresh[:0]
}

// rollback makes the way what it was before the run, and gone what a checkpoint must not hold:
// whoever goes on from there would take states for seen that nobody has gone on from. If the run
// has found that more is to be tried in the last state of the way, so it is.
func (x *dfs) rollback() {
	x.path = x.path[:x.savepoint.way]
	slices.Sort(x.savepoint.fresh)
	x.rolledBack = x.savepoint.fresh
}
