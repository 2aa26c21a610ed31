package strategy

import (
	"slices"

	"github.com/interlock-sim/interlock/sim"
)

// PCT is probabilistic concurrency testing: threads have random priorities, the runnable thread
// with the highest priority runs, and at a few random decisions the priority of that thread falls
// below all others. For n threads and k steps, a schedule finds a bug that needs d steps in a
// certain order with a probability of at least 1/(n·k^(d-1)) (Burckhardt, Kothari, Musuvathi and
// Nagarakatte, "A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs", ASPLOS
// 2010).
//
// It deviates from the paper: threads are those of [Profile]; k is the length of a trial run, so
// that in a schedule with faults all changes lie in its first part; faults and time, which the
// paper does not have, come from the [faultSampler], so that the bound holds only for bugs that
// need neither.
type PCT struct {
	faultSampler
	// by thread, drawn when the thread is first met; below depth after a change
	priorities []uint64
	changes    []int // decisions at which a priority falls, ascending
	depth      int
	decisions  int
}

// NewPCT returns the strategy of a depth for a seed and a schedule's number.
func NewPCT(profile *Profile, depth int, seed uint64, schedule int) *PCT {
	p := &PCT{
		faultSampler: newFaultSampler(seed, schedule), depth: depth,
		changes: make([]int, 0, max(0, depth-1)),
	}
	for range depth - 1 {
		p.changes = append(p.changes, int(p.Below(uint64(max(1, profile.Decisions)))))
	}
	slices.Sort(p.changes)
	return p
}

// Choose returns the next step of the thread with the highest priority.
func (p *PCT) Choose(_ int, enabled []sim.EnabledStep, defaultIndex int) int {
	if i, ok := p.sample(enabled, defaultIndex); ok {
		return i
	}
	heads := p.heads(enabled)
	first := p.first(enabled, heads)
	for len(p.changes) > 0 && p.changes[0] <= p.decisions {
		// The later a thread falls, the lower: priorities that have fallen are depth-1, depth-2 and
		// so on.
		p.priorities[enabled[first].Thread()] = uint64(len(p.changes))
		p.changes = p.changes[1:]
		first = p.first(enabled, heads)
	}
	p.decisions++
	return first
}

func (p *PCT) first(enabled []sim.EnabledStep, heads []int) int {
	best := heads[0]
	for _, i := range heads {
		if p.priority(enabled[i].Thread()) > p.priority(enabled[best].Thread()) {
			best = i
		}
	}
	return best
}

func (p *PCT) priority(thread int32) uint64 {
	for int(thread) >= len(p.priorities) {
		// That two threads get the same is out of the question, and would do no harm.
		p.priorities = append(p.priorities, uint64(p.depth)+p.source.Uint64()>>1)
	}
	return p.priorities[thread]
}
