package engine

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/interlock-sim/interlock/faults"
)

// A heededContext is the context of an attempt. It notes that somebody asks whether it has ended:
// otherwise the end of the context changes nothing.
type heededContext struct {
	context.Context
	process *Process
}

func (c heededContext) Done() <-chan struct{} {
	c.process.heed()
	return c.Context.Done()
}

func (c heededContext) Err() error {
	c.process.heed()
	return c.Context.Err()
}

// heed notes that the context of an attempt counts. Any goroutine may call it.
func (p *Process) heed() {
	if atomic.LoadInt32(&p.heeds) == 0 {
		atomic.StoreInt32(&p.heeds, 1)
	}
}

// noteHeed adds to the state of the process whether it has heeded a context.
func (p *Process) noteHeed() { p.Heeds = p.Heeds || atomic.LoadInt32(&p.heeds) == 1 }

// noteHeeds notes whether a cancellation could make a difference in the run.
func (l *Loop) noteHeeds() {
	l.result.Heeded = slices.ContainsFunc(l.Contenders, func(p *Process) bool {
		p.noteHeed()
		return p.Heeds
	})
	if l.result.Heeded {
		return
	}
	for i, entry := range l.plan.Targeted() {
		if entry.Kind == faults.Cancel {
			l.result.Targeted[i] = 0
		}
	}
}

// AddCoverage adds the faults that made a difference: without cancellations if no call of Lock has
// asked whether its context has ended.
func (r *Result) AddCoverage(to *FaultCoverage) {
	to.Add(&r.Coverage)
	if r.Heeded {
		return
	}
	for phase, count := range r.Coverage[faults.Cancel] {
		if count != 0 {
			to[faults.Cancel][phase] -= count
		}
	}
}
