package scenarios

import (
	"context"
	"slices"
	"testing"
)

// CachedRunner returns a function that performs a run with cached reactions, as an exhaustive
// search does. It returns the trace hash and the number of cached local histories.
func CachedRunner(t *testing.T, scenario *Scenario) func(Strategy) (traceHash uint64, histories int) {
	runner, known := NewRunner(t), newReplayCache(scenario, t)
	t.Cleanup(known.close)
	return func(s Strategy) (uint64, int) {
		return runner.runOn(context.Background(), scenario, s, known.on, nil).TraceHash,
			known.count
	}
}

// Rooted makes the search start every run at the initial state instead of a snapshot.
func (e *Exhaustive) Rooted() *Exhaustive {
	e.noSnapshots = true
	return e
}

// Hoarding makes the search store all states.
func (e *Exhaustive) Hoarding() *Exhaustive {
	e.storeAll = true
	return e
}

// LeapsOnly disables all reductions except time jumps.
func (e *Exhaustive) LeapsOnly() *Exhaustive {
	e.jumpsOnly = true
	return e
}

// Unsparing makes a search with FairSuffixes begin the fair phase in all states.
func (e *Exhaustive) Unsparing() *Exhaustive {
	e.fairEverywhere = true
	return e
}

// Mutate applies the mutation with the given number to all searches until restore is called.
func Mutate(which int) (restore func()) {
	mutated = mutation(which)
	return func() { mutated = unmutated }
}

// MutationCount is the number of mutations.
const MutationCount = int(mutations) - 1

// Mutations maps the names of mutations to their numbers for [Mutate].
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

// A Sighting is a state in which a decision is made: its key and the steps that lead to it.
type Sighting struct {
	Key   uint64
	Steps []Step
}

// Sightings returns the states of a run with the keys of an exhaustive search that distinguishes
// local histories.
func Sightings(t *testing.T, scenario *Scenario, strategy Strategy) []Sighting {
	known := newReplayCache(scenario, t)
	defer known.close()
	e := &Exhaustive{Scenario: *scenario}
	k := &keyRecorder{Strategy: strategy, x: &dfs{search: e, monitor: e.newMonitor()}}
	NewRunner(t).runOn(context.Background(), scenario, k, known.on, nil)
	sightings := make([]Sighting, len(k.keys))
	for i := range sightings {
		sightings[i] = Sighting{k.keys[i], k.steps[:i]}
	}
	return sightings
}

// keyRecorder records the keys of the states in which a strategy decides.
type keyRecorder struct {
	Strategy
	x     *dfs
	keys  []uint64
	steps []Step
}

func (k *keyRecorder) join(v View)                                { k.x.view = v }
func (k *keyRecorder) settled(int) (step Step, deviates, ok bool) { return step, false, false }

func (k *keyRecorder) Choose(index int, enabled []EnabledStep, defaultIndex int) int {
	k.keys = append(k.keys, k.x.visitKey(k.x.view.Key()))
	i := k.Strategy.Choose(index, enabled, defaultIndex)
	k.steps = append(k.steps, enabled[i].Step)
	return i
}

// GoOn takes the steps and then lets the strategy decide, in a live run. It returns the result and
// the number of events before the strategy's first decision.
func GoOn(t *testing.T, scenario *Scenario, steps []Step, strategy Strategy) (result *Result,
	before int,
) {
	s := &prefixStrategy{steps: steps, Strategy: strategy}
	return NewRunner(t).Run(scenario, s), s.before
}

type prefixStrategy struct {
	Strategy
	view   View
	steps  []Step
	before int
}

func (s *prefixStrategy) join(v View)                                { s.view = v }
func (s *prefixStrategy) settled(int) (step Step, deviates, ok bool) { return step, false, false }

func (s *prefixStrategy) Choose(index int, enabled []EnabledStep, defaultIndex int) int {
	if index < len(s.steps) {
		return slices.IndexFunc(enabled,
			func(o EnabledStep) bool { return o.Step == s.steps[index] })
	}
	if index == len(s.steps) {
		s.before = len(s.view.Events())
	}
	return s.Strategy.Choose(index, enabled, defaultIndex)
}
