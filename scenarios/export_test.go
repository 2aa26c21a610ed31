package scenarios

import (
	"context"
	"slices"
	"testing"
	"time"
)

// HoldStacks does what a campaign does before it begins, for benchmarks of what a campaign does.
var HoldStacks = holdStacks

// LimitStandstill sets for how long a run may stand still.
func LimitStandstill(limit time.Duration) { watchdogLimit = limit }

// Keyless makes the runner's runs those of a campaign that counts no more states.
func (r *Runner) Keyless() *Runner {
	r.noKeys = true
	return r
}

// Rehearser returns a function that performs a run with what is known of the processes' code by
// their pasts, as an exhaustive search does, and returns its trace hash and how many pasts are
// known by then.
func Rehearser(t *testing.T, scenario *Scenario) func(Strategy) (traceHash uint64, pasts int) {
	runner, known := NewRunner(t), newReplayCache(scenario, t)
	t.Cleanup(known.close)
	return func(s Strategy) (uint64, int) {
		return runner.runCached(context.Background(), scenario, s, known, nil).TraceHash,
			known.count
	}
}

// Rooted makes the search begin every run at the beginning.
func (e *Exhaustive) Rooted() *Exhaustive {
	e.noSnapshots = true
	return e
}

// Hoarding makes the search store all states.
func (e *Exhaustive) Hoarding() *Exhaustive {
	e.storeAll = true
	return e
}

// LeapsOnly makes the search leave nothing out but the steps of leaps through time.
func (e *Exhaustive) LeapsOnly() *Exhaustive {
	e.jumpsOnly = true
	return e
}

// Unsparing makes the search with Fair try in all states that the fair phase begins.
func (e *Exhaustive) Unsparing() *Exhaustive {
	e.fairEverywhere = true
	return e
}

// Mutate makes searches break by the mutation of that number until the function that it returns is
// called.
func Mutate(which int) (restore func()) {
	mutated = mutation(which)
	return func() { mutated = unmutated }
}

// MutationCount is how many things [Mutate] can do.
const MutationCount = int(mutations) - 1

// Mutations are the numbers of what [Mutate] can do, by name.
var Mutations = map[string]int{
	"no step is visible":                           int(nothingVisible),
	"an entry before tokens are checked":           int(entryBeforeToken),
	"a delivery before the process's own request":  int(overRequest),
	"a delivery without the faults of its process": int(withoutFaults),
	"others left out after a delivery":             int(afterDelivery),
	"deliveries from servers that may drop them":   int(ignoreTimeouts),
	"keys without what properties remember":        int(withoutMonitorState),
	"reactions cached without the time":            int(untimedCache),
	"keys without the step before":                 int(withoutLastStep),
	"local histories that only look the same":      int(byAppearance),
	"keys with the memory of holders only":         int(holdersOnly),
	"ways on that are forgotten":                   int(withoutContinuations),
	"grants that are invisible":                    int(grantsInvisible),
	"releases that are invisible":                  int(releasesInvisible),
	"keys without the faults that are left":        int(withoutBudget),
	"a leaving while another holds the lock":       int(leavingAmongHolders),
}

// A Sighting is a state in which a decision is made: its key, and the steps that have led there.
type Sighting struct {
	Key   uint64
	Steps []Step
}

// Sightings returns the states of a run, by the keys that an exhaustive search has that tells local
// histories apart.
func Sightings(t *testing.T, scenario *Scenario, strategy Strategy) []Sighting {
	known := newReplayCache(scenario, t)
	defer known.close()
	e := &Exhaustive{Scenario: *scenario}
	k := &keyRecorder{Strategy: strategy, x: &dfs{search: e, monitor: e.newMonitor()}}
	NewRunner(t).runCached(context.Background(), scenario, k, known, nil)
	sightings := make([]Sighting, len(k.keys))
	for i := range sightings {
		sightings[i] = Sighting{k.keys[i], k.steps[:i]}
	}
	return sightings
}

// keyRecorder takes note of the states in which a strategy makes its decisions.
type keyRecorder struct {
	Strategy
	x     *dfs
	keys  []uint64
	steps []Step
}

func (k *keyRecorder) join(l *loop)             { k.x.loop = l }
func (k *keyRecorder) settledSteps(int) []frame { return nil }

func (k *keyRecorder) Choose(index int, enabled []EnabledStep, defaultIndex int) int {
	k.keys = append(k.keys, k.x.visitKey(k.x.loop.lastKey()))
	i := k.Strategy.Choose(index, enabled, defaultIndex)
	k.steps = append(k.steps, enabled[i].Step)
	return i
}

// GoOn takes the steps and then lets the strategy decide, in a run of the processes' code. It
// returns the result, and how many events there were before the strategy decided.
func GoOn(t *testing.T, scenario *Scenario, steps []Step, strategy Strategy) (result *Result,
	before int,
) {
	s := &prefixStrategy{steps: steps, Strategy: strategy}
	return NewRunner(t).Run(scenario, s), s.before
}

type prefixStrategy struct {
	Strategy
	loop   *loop
	steps  []Step
	before int
}

func (s *prefixStrategy) join(l *loop)             { s.loop = l }
func (s *prefixStrategy) settledSteps(int) []frame { return nil }

func (s *prefixStrategy) Choose(index int, enabled []EnabledStep, defaultIndex int) int {
	if index < len(s.steps) {
		return slices.IndexFunc(enabled,
			func(o EnabledStep) bool { return o.Step == s.steps[index] })
	}
	if index == len(s.steps) {
		s.before = s.loop.log.Len()
	}
	return s.Strategy.Choose(index, enabled, defaultIndex)
}
