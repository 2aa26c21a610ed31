package scenarios

// A sparse strategy follows the default policy except for a few random decisions. Removing
// deviations from a long schedule often cannot reach the shortest explanation of a failure, but
// there are few schedules with two or three deviations. (This is delay-bounded search, Emmi, Qadeer
// and Rakamarić, "Delay-Bounded Scheduling", POPL 2011, sampled, with any step in place of a
// delay.)
type sparse struct {
	source  *Random
	left    int  // deviations still to be made
	horizon int  // about how many decisions remain
	fair    bool // the last deviation begins the fair phase
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
