package hunt

import (
	"slices"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
)

// The lengths of turns in schedules. The first turn of a lock is short, so that all locks are
// visited soon, and later ones are each twice as long as the one before. If the steps of a lock
// take longer, its turns have fewer schedules, but enough for each configuration.
const (
	firstSchedules = 128
	doublings      = 5 // up to 4096 schedules, four rounds of a portfolio
	leastSchedules = 64
)

// schedules returns the length of the next turn after a number of turns.
func (t *Target) schedules(turns int) int {
	if t.Schedules > 0 {
		return t.Schedules
	}
	return max(leastSchedules, strategy.BlockSchedules*len(t.Configurations),
		firstSchedules<<min(turns, doublings)/t.stepCost())
}

// stepCost returns how long a step takes; see [engine.StepCost].
func (t *Target) stepCost() int { return engine.StepCost(&t.Configurations[0].Scenario) }

// failedWeight is the weight of a lock in which a failure was found, to that of the same lock
// before. It may have others, which new behaviour announces.
const failedWeight = 0.25

// shares returns the shares of the targets in the work: half of it by their weights, and half by
// the new behaviours that their late turns have shown for their work.
func (h *Hunt) shares() []float64 {
	even, rates := make([]float64, len(h.findings)), make([]float64, len(h.findings))
	total := 0.0
	for i := range h.findings {
		f, target := &h.findings[i], &h.Targets[i]
		weight := float64(max(1, target.Weight))
		rates[i] = weight * f.Fresh / max(1, f.FreshSteps*float64(target.stepCost()))
		if len(f.Failures) > 0 {
			weight *= failedWeight
		}
		even[i] = weight
		total += weight
	}
	for i := range even {
		even[i] /= total
	}
	return strategy.Favour(even, rates)
}

// next returns the index of the target that has the next turn: one without a turn or, if there is
// none, the one to which most work is owed.
func (h *Hunt) next() int {
	if first := slices.IndexFunc(h.findings,
		func(f Findings) bool { return f.Turns == 0 }); first >= 0 {
		return first
	}
	most := 0
	for i := range h.owed {
		if h.owed[i] > h.owed[most] {
			most = i
		}
	}
	return most
}

// spend notes the work of a turn, in steps times their cost: each target is owed its share of it.
func (h *Hunt) spend(index int, work float64) {
	for i, share := range h.shares() {
		h.owed[i] += share * work
	}
	h.owed[index] -= work
}
