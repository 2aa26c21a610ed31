package scenarios

import (
	"context"
	"slices"
	"time"
)

// A run is abandoned when its context ends, as that of a campaign does whose time is over: between
// two steps, so that what is over is over at once, however long the run would have been. Its
// goroutines are made to end as at the end of any run. Nothing of it counts.

// within returns a context that ends when the budget is spent, if there is one.
func within(ctx context.Context, budget time.Duration) (context.Context, context.CancelFunc) {
	if budget > 0 {
		return context.WithTimeout(ctx, budget)
	}
	return context.WithCancel(ctx)
}

// cancelRun tells whether the run is to be abandoned here, and notes it. One in which a process has
// panicked is gone on with: that is found.
func (l *loop) cancelRun() bool {
	l.result.cancelled = l.ctx.Err() != nil &&
		!slices.ContainsFunc(l.processes, func(p *process) bool { return p.panics != "" })
	return l.result.cancelled
}

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
