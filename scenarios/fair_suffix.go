package scenarios

// fairEvery is how many schedules of a campaign there are for one in which the fair phase begins
// early. Without these, nearly all processes have finished when it begins, and little is left of
// what must happen in the end.
const fairEvery = 16

// A fairSuffix follows another strategy up to a decision, where it lets the fair phase begin.
type fairSuffix struct {
	Strategy
	from int
}

// Choose returns what the other strategy chooses, and from the decision on that the fair phase
// begins.
func (f *fairSuffix) Choose(index int, enabled []EnabledStep, defaultIndex int) int {
	if index >= f.from {
		return beginFair
	}
	return f.Strategy.Choose(index, enabled, defaultIndex)
}

// withFairSuffix lets the fair phase begin early in some schedules, at a decision that is drawn
// from the campaign's seed. Runs with faults have more decisions than the profile tells of.
func (c *Campaign) withFairSuffix(s Strategy, schedule int) Strategy {
	if schedule%fairEvery != fairEvery-1 {
		return s
	}
	draw := NewRandom(^c.Seed, schedule)
	return &fairSuffix{s, int(draw.below(uint64(2*c.profile.Decisions + 1)))}
}
