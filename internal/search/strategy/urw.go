package strategy

import "github.com/interlock-sim/interlock/sim"

// URW is the uniform random walk: a thread runs with a probability in proportion to the steps that
// it has left, which makes all interleavings of threads that do not block each other equally
// likely. A random walk favours those in which short threads end early (Zhao, Wolff, Mathur and
// Roychoudhury, "Selectively Uniform Concurrency Testing", ASPLOS 2025, section 3).
//
// It deviates from the paper: all threads exist from the start; the number of their steps comes
// from a trial run, and a thread that takes more counts as having one left; faults and time come
// from the [faultSampler].
type URW struct {
	faultSampler
	left []int
}

// NewURW returns the strategy for a seed and a schedule's number.
func NewURW(profile *Profile, seed uint64, schedule int) *URW {
	return &URW{
		faultSampler: newFaultSampler(seed, schedule),
		left:         append([]int(nil), profile.Events...),
	}
}

// Choose draws a thread and returns its next step.
func (u *URW) Choose(_ int, enabled []sim.EnabledStep, defaultIndex int) int {
	if i, ok := u.sample(enabled, defaultIndex); ok {
		return i
	}
	heads := u.heads(enabled)
	chosen := heads[u.draw(u.left, len(heads),
		func(i int) int32 { return enabled[heads[i]].Thread() })]
	if thread := int(enabled[chosen].Thread()); thread < len(u.left) {
		u.left[thread]--
	}
	return chosen
}

// draw draws one of n threads, weighted by the steps that they have left, at least one each.
func (c *faultSampler) draw(left []int, n int, thread func(int) int32) int {
	weight := func(i int) uint64 {
		if t := int(thread(i)); t < len(left) {
			return uint64(max(1, left[t]))
		}
		return 1
	}
	total := uint64(0)
	for i := range n {
		total += weight(i)
	}
	draw := c.Below(total)
	for i := range n {
		w := weight(i)
		if draw < w {
			return i
		}
		draw -= w
	}
	panic("strategy: the weights do not add up")
}
