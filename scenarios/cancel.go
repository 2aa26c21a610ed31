package scenarios

import (
	"slices"
)

// A run is abandoned when its context ends, as that of a campaign does whose time is over: between
// two steps, so that what is over is over at once, however long the run would have been. Its
// goroutines are made to end as at the end of any run. Nothing of it counts.

// cancelRun reports whether the run ends here because its context has ended, and notes it. A run in
// which a process has panicked continues, so that the panic is reported.
func (l *loop) cancelRun() bool {
	l.result.cancelled = l.ctx.Err() != nil &&
		!slices.ContainsFunc(l.processes, func(p *process) bool { return p.panics != "" })
	return l.result.cancelled
}
