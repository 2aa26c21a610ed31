package campaign

import (
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/sim"
)

// fairEvery is how many schedules of a campaign there are for one in which the fair phase begins
// early. Without these, nearly all processes have finished by then, and little is left that
// liveness could be judged by.
const fairEvery = 16

// A fairSuffix follows another strategy up to a decision, where it begins the fair phase.
type fairSuffix struct {
	engine.Strategy
	from int
}

// Watch lets the other strategy see the state of the run.
func (f *fairSuffix) Watch(view engine.View) { engine.Watch(f.Strategy, view) }

// Choose returns the choice of the other strategy, and begins the fair phase at the decision.
func (f *fairSuffix) Choose(index int, enabled []sim.EnabledStep, defaultIndex int) int {
	if index >= f.from {
		return engine.BeginFair
	}
	return f.Strategy.Choose(index, enabled, defaultIndex)
}

// withFairSuffix begins the fair phase early in some schedules, at a decision drawn from the seed.
// The range is twice the profile's length, because runs with faults are longer than the profile.
func (c *Campaign) withFairSuffix(s engine.Strategy, profile *strategy.Profile, schedule int,
) engine.Strategy {
	if schedule%fairEvery != fairEvery-1 {
		return s
	}
	draw := strategy.NewRandom(^c.Seed, schedule)
	return &fairSuffix{s, int(draw.Below(uint64(2*profile.Decisions + 1)))}
}
