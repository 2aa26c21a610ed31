package strategy

import "github.com/interlock-sim/interlock/sim"

// POS is partial order sampling: every enabled step has a random priority, the step with the
// highest priority is taken, and the steps that race with it draw new ones. Unlike a random walk,
// POS does not favour the few partial orders that many schedules share (Yuan, Yang and Gu, "Partial
// Order Aware Concurrency Sampling", CAV 2018).
//
// It deviates from the paper: not each thread has one pending step but each process up to three, a
// request, a message and a gate, with a priority each; two steps race if they are of the same
// process, if both serve a request, or if both are at gates of critical sections; faults and time
// come from the [faultSampler].
type POS struct {
	faultSampler
	races   func(a, b *sim.EnabledStep) bool
	pending []posEvent
}

// A posEvent is an enabled step with its priority.
type posEvent struct {
	step     sim.EnabledStep
	priority uint64
}

// NewPOS returns the strategy for a seed and a schedule's number.
func NewPOS(seed uint64, schedule int) *POS {
	return &POS{
		faultSampler: newFaultSampler(seed, schedule), races: racing,
		pending: make([]posEvent, 0, 3*threadsExpected),
	}
}

// racing reports whether the order of two steps can affect more than times.
func racing(a, b *sim.EnabledStep) bool {
	gate := func(o *sim.EnabledStep) bool { return o.Kind == sim.Enter || o.Kind == sim.Leave }
	return a.Process == b.Process || a.Kind == sim.Serve && b.Kind == sim.Serve || gate(a) &&
		gate(b)
}

// Choose returns the step with the highest priority.
func (p *POS) Choose(_ int, enabled []sim.EnabledStep, defaultIndex int) int {
	if i, ok := p.sample(enabled, defaultIndex); ok {
		return i
	}
	best, highest := defaultIndex, uint64(0)
	for i := range enabled {
		if !ofThread(enabled[i].Kind) {
			continue
		}
		if priority := p.priority(&enabled[i]); priority >= highest {
			best, highest = i, priority
		}
	}
	p.forget(&enabled[best])
	return best
}

// forget drops the priorities of the chosen step and of those that race with it.
func (p *POS) forget(chosen *sim.EnabledStep) {
	kept := p.pending[:0]
	for i := range p.pending {
		if e := &p.pending[i]; e.step.Step != chosen.Step && !p.races(&e.step, chosen) {
			kept = append(kept, *e)
		}
	}
	p.pending = kept
}

// priority returns the priority of the step, and draws one if it has none.
func (p *POS) priority(o *sim.EnabledStep) uint64 {
	for i := range p.pending {
		if e := &p.pending[i]; e.step.Step == o.Step && e.step.Age == o.Age {
			return e.priority
		}
	}
	p.pending = append(p.pending, posEvent{*o, p.source.Uint64()})
	return p.pending[len(p.pending)-1].priority
}
