package scenarios

// POS is partial order sampling: every step that can be taken has a random priority, the highest is
// taken, and whatever races with it draws anew. Unlike a random walk it does not prefer the few
// partial orders that many schedules share (Yuan, Yang and Gu, "Partial Order Aware Concurrency
// Sampling", CAV 2018).
//
// It deviates from the paper in this: not each thread has one pending step but each process up to
// three, a request, a message and a gate, each with a priority of its own; two steps race if they
// are of the same process, or both let the server handle a request, or are both at the gates of
// critical sections; faults and time come by chance, see [chances].
type POS struct {
	faultSampler
	races   func(a, b *EnabledStep) bool
	pending []posEvent
}

// A posEvent is an option with its priority.
type posEvent struct {
	step     EnabledStep
	priority uint64
}

// NewPOS returns the strategy that belongs to the seed and the schedule's number.
func NewPOS(seed uint64, schedule int) *POS {
	return &POS{
		faultSampler: newFaultSampler(seed, schedule), races: racing,
		pending: make([]posEvent, 0, 3*threadsExpected),
	}
}

// racing tells whether the order of two steps can make a difference to more than when things
// happen.
func racing(a, b *EnabledStep) bool {
	gate := func(o *EnabledStep) bool { return o.Kind == Enter || o.Kind == Leave }
	return a.Process == b.Process || a.Kind == Serve && b.Kind == Serve || gate(a) && gate(b)
}

// Choose returns the option of the highest priority.
func (p *POS) Choose(_ int, enabled []EnabledStep, defaultIndex int) int {
	if i, ok := p.sample(enabled, defaultIndex); ok {
		return i
	}
	best, highest := defaultIndex, uint64(0)
	for i := range enabled {
		if enabled[i].Kind >= Tick {
			break
		}
		if priority := p.priority(&enabled[i]); priority >= highest {
			best, highest = i, priority
		}
	}
	p.forget(&enabled[best])
	return best
}

// forget drops the priorities of the step that was chosen and of those that race with it.
func (p *POS) forget(chosen *EnabledStep) {
	kept := p.pending[:0]
	for i := range p.pending {
		if e := &p.pending[i]; e.step.Step != chosen.Step && !p.races(&e.step, chosen) {
			kept = append(kept, *e)
		}
	}
	p.pending = kept
}

// priority returns the option's priority, and draws it when it has none. An option that has raced
// is as good as new.
func (p *POS) priority(o *EnabledStep) uint64 {
	for i := range p.pending {
		if e := &p.pending[i]; e.step.Step == o.Step && e.step.Age == o.Age {
			return e.priority
		}
	}
	p.pending = append(p.pending, posEvent{*o, p.source.Uint64()})
	return p.pending[len(p.pending)-1].priority
}
