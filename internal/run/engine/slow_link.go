package engine

import "slices"

// mayWait reports whether processes may wait for ever: at a barrier, or on a slow link.
func (l *Loop) mayWait() bool {
	return l.parties > 0 ||
		slices.ContainsFunc(l.Processes, func(p *Process) bool { return p.slow })
}

// waitsSlowly reports whether all that a process does is wait for the lock on a slow link, on which
// it need not get it.
func (p *Process) waitsSlowly() bool {
	return p.slow && !slices.ContainsFunc(p.Threads, func(thread *Process) bool {
		return !thread.done() && thread.Stage != locking
	})
}
