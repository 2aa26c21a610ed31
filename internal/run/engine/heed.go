package engine

import (
	"context"
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

// dropUnheeded takes the cancellations out of the result's coverage if no call of Lock has asked
// whether its context has ended: they have changed nothing.
func (l *Loop) dropUnheeded() {
	for _, p := range l.Contenders {
		if p.noteHeed(); p.Heeds {
			return
		}
	}
	l.result.Coverage[faults.Cancel] = [faults.Phases]int{}
	for i, entry := range l.plan.Targeted() {
		if entry.Kind == faults.Cancel {
			l.result.Targeted[i] = 0
		}
	}
}
