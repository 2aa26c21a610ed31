package scenarios

// SURW is the selectively uniform random walk: uniform over the orders of the interesting steps
// alone. It draws which thread takes the next interesting step, by how many each still has before
// it, and until that has happened no other thread may take one; steps that are not interesting go
// in any order (Zhao, Wolff, Mathur and Roychoudhury, "Selectively Uniform Concurrency Testing",
// ASPLOS 2025, section 4).
//
// It deviates from the paper in this: what is interesting is fixed, that the server handles a
// request, where the paper draws a shared variable for each schedule; where only interesting steps
// of other threads can be taken, because the drawn thread waits for one of them, the draw is made
// again among those; counts are those of a trial run; faults and time come by chance, see
// [chances].
type SURW struct {
	faultSampler
	interesting func(*EnabledStep) bool
	left        []int
	intended    int32 // the thread that takes the next interesting step
	drawn       bool
	free        []int // memory for the steps that may be taken
}

// NewSURW returns the strategy that belongs to the seed and the schedule's number.
func NewSURW(profile *Profile, seed uint64, schedule int) *SURW {
	return &SURW{
		faultSampler: newFaultSampler(seed, schedule), interesting: Interesting,
		left: append([]int(nil), profile.Interesting...),
	}
}

// Choose draws among the steps that are not interesting and the one that is intended.
func (s *SURW) Choose(_ int, enabled []EnabledStep, defaultIndex int) int {
	if i, ok := s.sample(enabled, defaultIndex); ok {
		return i
	}
	if !s.drawn {
		s.intend()
	}
	heads := s.heads(enabled)
	free := s.free[:0]
	for _, i := range heads {
		if !s.interesting(&enabled[i]) || enabled[i].thread() == s.intended {
			free = append(free, i)
		}
	}
	if len(free) == 0 {
		free = append(free, heads[s.draw(s.left, len(heads),
			func(i int) int32 { return enabled[heads[i]].thread() })])
	}
	s.free = free
	chosen := free[s.below(uint64(len(free)))]
	if o := &enabled[chosen]; s.interesting(o) {
		if int(o.thread()) < len(s.left) {
			s.left[o.thread()]--
		}
		s.drawn = false
	}
	return chosen
}

// intend draws the thread that is to take the next interesting step, among those that have one
// left.
func (s *SURW) intend() {
	s.drawn, s.intended = true, 0
	total := uint64(0)
	for _, left := range s.left {
		total += uint64(max(0, left))
	}
	if total == 0 {
		return // More steps than were expected: any thread may.
	}
	draw := s.below(total)
	for thread, left := range s.left {
		if draw < uint64(max(0, left)) {
			s.intended = int32(thread)
			return
		}
		draw -= uint64(max(0, left))
	}
}
