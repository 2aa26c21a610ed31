package exhaustive

import (
	"context"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/replay"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// CachedRunner returns a function that performs a run with cached reactions, as an exhaustive
// search does. It returns the trace hash and the number of cached local histories.
func CachedRunner(t *testing.T, scenario *scenarios.Scenario) func(engine.Strategy) (
	traceHash uint64,
	histories int) {
	runner, known := engine.NewRunner(t), replay.NewCache(scenario, t, false)
	t.Cleanup(known.Close)
	return func(s engine.Strategy) (uint64, int) {
		return runner.RunOn(context.Background(), scenario, s, known.On, nil).TraceHash,
			known.Count()
	}
}

// Rooted makes the search start every run at the initial state instead of a snapshot.
func (e *Search) Rooted() *Search {
	e.noSnapshots = true
	return e
}

// StoreAll makes the search store all states.
func (e *Search) StoreAll() *Search {
	e.storeAll = true
	return e
}

// Crowded makes several workers search almost from the start.
func (e *Search) Crowded(workers int) *Search {
	e.Workers, e.Solo = workers, 2
	return e
}

// JumpsOnly disables all reductions except time jumps.
func (e *Search) JumpsOnly() *Search {
	e.jumpsOnly = true
	return e
}

// Unsparing makes a search with FairSuffixes begin the fair phase in all states.
func (e *Search) Unsparing() *Search {
	e.fairEverywhere = true
	return e
}

// A Sighting is a state in which a decision is made: its key and the steps that lead to it.
type Sighting struct {
	Key   uint64
	Steps []sim.Step
}

// Sightings returns the states of a run with the keys of an exhaustive search that distinguishes
// local histories.
func Sightings(t *testing.T, scenario *scenarios.Scenario, strategy engine.Strategy) []Sighting {
	known := replay.NewCache(scenario, t, false)
	defer known.Close()
	e := &Search{Scenario: *scenario}
	k := &keyRecorder{Strategy: strategy, x: &dfs{search: e, monitor: e.newMonitor()}}
	engine.NewRunner(t).RunOn(context.Background(), scenario, k, known.On, nil)
	sightings := make([]Sighting, len(k.keys))
	for i := range sightings {
		sightings[i] = Sighting{k.keys[i], k.steps[:i]}
	}
	return sightings
}

// keyRecorder records the keys of the states in which a strategy decides.
type keyRecorder struct {
	engine.Strategy
	x     *dfs
	keys  []uint64
	steps []sim.Step
}

func (k *keyRecorder) Join(v engine.View)                             { k.x.view = v }
func (k *keyRecorder) Settled(int) (step sim.Step, deviates, ok bool) { return step, false, false }

func (k *keyRecorder) Choose(index int, enabled []sim.EnabledStep, defaultIndex int) int {
	k.keys = append(k.keys, k.x.visitKey(k.x.view.Key()))
	i := k.Strategy.Choose(index, enabled, defaultIndex)
	k.steps = append(k.steps, enabled[i].Step)
	return i
}

// GoOn takes the steps and then lets the strategy decide, in a live run. It returns the result and
// the number of events before the strategy's first decision.
func GoOn(t *testing.T, scenario *scenarios.Scenario, steps []sim.Step,
	strategy engine.Strategy) (result *engine.Result, before int,
) {
	s := &prefixStrategy{steps: steps, Strategy: strategy}
	return engine.NewRunner(t).Run(scenario, s), s.before
}

type prefixStrategy struct {
	engine.Strategy
	view   engine.View
	steps  []sim.Step
	before int
}

func (s *prefixStrategy) Join(v engine.View) { s.view = v }
func (s *prefixStrategy) Settled(int) (step sim.Step, deviates, ok bool) {
	return step, false,
		false
}

func (s *prefixStrategy) Choose(index int, enabled []sim.EnabledStep, defaultIndex int) int {
	if index < len(s.steps) {
		return slices.IndexFunc(enabled,
			func(o sim.EnabledStep) bool { return o.Step == s.steps[index] })
	}
	if index == len(s.steps) {
		s.before = len(s.view.Events())
	}
	return s.Strategy.Choose(index, enabled, defaultIndex)
}
