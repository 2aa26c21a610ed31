package engine

import (
	"slices"
)

// A run is cancelled when its context ends, between two steps, so that a search ends promptly
// however long its runs are. The goroutines end as at the end of any run, and the result does not
// count.

// cancelRun reports whether the run ends here because its context has ended, and notes it. A run in
// which a process has panicked continues, so that the panic is reported.
func (l *Loop) cancelRun() bool {
	l.result.Cancelled = l.ctx.Err() != nil &&
		!slices.ContainsFunc(l.Contenders, func(p *Process) bool { return p.Panics != "" })
	return l.result.Cancelled
}
