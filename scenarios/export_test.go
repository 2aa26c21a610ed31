package scenarios

import (
	"context"
	"testing"
	"time"
)

// HoldStacks does what a campaign does before it begins, for benchmarks of what a campaign does.
var HoldStacks = holdStacks

// LimitStandstill sets for how long a run may stand still.
func LimitStandstill(limit time.Duration) { standstillLimit = limit }

// Keyless makes the runner's runs those of a campaign that counts no more states.
func (r *Runner) Keyless() *Runner {
	r.keyless = true
	return r
}

// Rehearser returns a function that performs a run with what is known of the processes' code by their pasts, as an
// exhaustive search does, and returns its trace hash and how many pasts are known by then.
func Rehearser(t *testing.T, scenario *Scenario) func(Strategy) (traceHash uint64, pasts int) {
	runner, known := NewRunner(t), newPasts(scenario, t)
	t.Cleanup(known.close)
	return func(s Strategy) (uint64, int) {
		return runner.rehearse(context.Background(), scenario, s, known, nil).TraceHash, known.count
	}
}

// Rooted makes the search begin every run at the beginning.
func (e *Exhaustive) Rooted() *Exhaustive {
	e.rooted = true
	return e
}

// Hoarding makes the search store all states.
func (e *Exhaustive) Hoarding() *Exhaustive {
	e.hoards = true
	return e
}

// LeapsOnly makes the search leave nothing out but the steps of leaps through time.
func (e *Exhaustive) LeapsOnly() *Exhaustive {
	e.leapsOnly = true
	return e
}

// Unsparing makes the search with Fair try in all states that the fair phase begins.
func (e *Exhaustive) Unsparing() *Exhaustive {
	e.unsparing = true
	return e
}
