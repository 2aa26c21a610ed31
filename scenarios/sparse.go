package scenarios

// sparse is the default policy but for a few decisions, drawn at random. The shortest explanation
// of a failure is often not to be reached by leaving something out of a long one, but there are few
// schedules with two or three deviations. (This is delay-bounded search, Emmi, Qadeer and
// Rakamarić, "Delay-Bounded Scheduling", POPL 2011, with any step that can happen in place of a
// delay, and sampled.)
type sparse struct {
	source  *Random
	left    int  // deviations still to be made
	horizon int  // about how many decisions are still to come
	fair    bool // the last deviation is that the fair phase begins
}

func (s *sparse) Choose(index int, enabled []EnabledStep, defaultIndex int) int {
	if s.left == 0 || len(enabled) < 2 {
		return defaultIndex
	}
	remaining := max(s.horizon-index, s.left)
	if int(s.source.below(uint64(remaining))) >= s.left {
		return defaultIndex
	}
	if s.left--; s.left == 0 && s.fair {
		return beginFair
	}
	return usualFirst(1+int(s.source.below(uint64(len(enabled)-1))), defaultIndex)
}
