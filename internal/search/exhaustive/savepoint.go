package exhaustive

import "slices"

// A savepoint is the state of an exhaustive search before the run under way. The search returns to
// it if the run is cancelled.
type savepoint struct {
	depth int      // length of the path
	fresh []uint64 // keys that the run added, if they will be written to a checkpoint
}

// setSavepoint stores the state before the next run.
func (x *dfs) setSavepoint() {
	x.savepoint.depth, x.savepoint.fresh = len(x.path),
		x.savepoint.fresh[:0]
}

// rollback undoes the run under way. The keys that the run added must not be in a checkpoint,
// because a search that resumes from it would skip states that nobody has explored. Steps that the
// run deferred in the last frame of the path stay there to be tried.
func (x *dfs) rollback() {
	x.path = x.path[:x.savepoint.depth]
	slices.Sort(x.savepoint.fresh)
	x.rolledBack = x.savepoint.fresh
}
