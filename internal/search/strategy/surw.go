package strategy

import "github.com/interlock-sim/interlock/sim"

// SURW is the selectively uniform random walk: uniform over the orders of interesting steps only.
// It draws the thread that takes the next interesting step, weighted by how many each thread has
// left, and until then no other thread may take one; other steps come in any order (Zhao, Wolff,
// Mathur and Roychoudhury, "Selectively Uniform Concurrency Testing", ASPLOS 2025, section 4).
//
// It deviates from the paper: interesting steps are fixed, the server handles a request, while the
// paper draws a shared variable for each schedule; if only interesting steps of other threads are
// enabled, because the drawn thread waits for one of them, the thread is drawn again among those;
// counts come from a trial run; faults and time come from the [faultSampler].
type SURW struct {
	faultSampler
	interesting func(*sim.EnabledStep) bool
	left        []int
	intended    int32 // the thread that takes the next interesting step
	drawn       bool
	free        []int // reused memory for the steps that may be taken
}

// NewSURW returns the strategy for a seed and a schedule's number.
func NewSURW(profile *Profile, seed uint64, schedule int) *SURW {
	return &SURW{
		faultSampler: newFaultSampler(seed, schedule), interesting: Interesting,
		left: append([]int(nil), profile.Interesting...),
	}
}

// Choose draws among the steps that are not interesting and the intended one.
func (s *SURW) Choose(_ int, enabled []sim.EnabledStep, defaultIndex int) int {
	if i, ok := s.sample(enabled, defaultIndex); ok {
		return i
	}
	if !s.drawn {
		s.intend()
	}
	heads := s.heads(enabled)
	free := s.free[:0]
	for _, i := range heads {
		if !s.interesting(&enabled[i]) || enabled[i].Thread() == s.intended {
			free = append(free, i)
		}
	}
	if len(free) == 0 {
		free = append(free, heads[s.draw(s.left, len(heads),
			func(i int) int32 { return enabled[heads[i]].Thread() })])
	}
	s.free = free
	chosen := free[s.Below(uint64(len(free)))]
	if o := &enabled[chosen]; s.interesting(o) {
		if int(o.Thread()) < len(s.left) {
			s.left[o.Thread()]--
		}
		s.drawn = false
	}
	return chosen
}

// intend draws the thread of the next interesting step among those that have one left.
func (s *SURW) intend() {
	s.drawn, s.intended = true, 0
	total := uint64(0)
	for _, left := range s.left {
		total += uint64(max(0, left))
	}
	if total == 0 {
		return // More steps than were expected: any thread may.
	}
	draw := s.Below(total)
	for thread, left := range s.left {
		if draw < uint64(max(0, left)) {
			s.intended = int32(thread)
			return
		}
		draw -= uint64(max(0, left))
	}
}
