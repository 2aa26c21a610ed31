package shrink

import (
	"slices"
	"sort"

	"github.com/cespare/xxhash/v2"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// The budget is counted in steps, so that the same schedule always has the same result.
const (
	// costMax bounds the cost of all runs, which is a few seconds.
	costMax = 4_000_000
	// runCost is the cost of a run without steps.
	runCost = 20
)

// SearchCostMax bounds the cost after which no search begins, so that passes which drop parts of
// the schedule can still end. Tests of what does not depend on the shortest form lower it.
var SearchCostMax = 2_500_000

// try runs a candidate, and keeps it if it fails in the same way and is smaller.
func (s *shrinker) try(scenario scenarios.Scenario, strategy engine.Strategy) bool {
	result := s.run(&scenario, strategy)
	if result == nil || !s.same(&scenario, result) {
		return false
	}
	size := sizeOf(&scenario, result)
	if !size.less(s.size) || s.cause != nil && !s.keepsCause(result) {
		return false
	}
	s.keep(scenario, result, size)
	return true
}

// replay tries a schedule.
func (s *shrinker) replay(scenario scenarios.Scenario, deviations []engine.Deviation) bool {
	key := xxhash.Sum64String(scenario.String())
	for _, d := range deviations {
		key = hash64.Mix(hash64.Mix(key, uint64(d.Index)), stepKey(d.Step))
	}
	return s.first(key) && s.try(scenario, &engine.Replay{Deviations: deviations})
}

// follow tries a schedule that takes the steps in their order as far as they are enabled.
func (s *shrinker) follow(scenario scenarios.Scenario, steps []sim.Step) bool {
	key := ^xxhash.Sum64String(scenario.String())
	for _, step := range steps {
		key = hash64.Mix(key, stepKey(step))
	}
	return s.first(key) && s.try(scenario, &guide{steps: steps})
}

// first reports whether a candidate has not been tried before. A candidate that was rejected is
// rejected again, because the schedule to which it is compared only becomes smaller.
func (s *shrinker) first(key uint64) bool {
	if s.tried[key] {
		return false
	}
	s.tried[key] = true
	return true
}

func stepKey(step sim.Step) uint64 {
	return uint64(uint32(step.Process))<<32 | uint64(step.Peer)<<16 | uint64(step.Fault)<<8 |
		uint64(step.Kind)
}

// run runs a candidate and sorts its violations. It returns nil if the budget or the context ends.
func (s *shrinker) run(scenario *scenarios.Scenario, strategy engine.Strategy) *engine.Result {
	if s.cost >= s.costMax || s.ctx.Err() != nil {
		return nil
	}
	s.recorder.reset(strategy)
	result := s.perform(scenario)
	if result == nil {
		return nil
	}
	s.runs++
	s.cost += (runCost + result.Steps) * s.stepCost
	result.Lead(scenario, s.signature)
	return result
}

// keep makes a candidate the smallest schedule so far. Deviations that were not enabled are
// dropped.
func (s *shrinker) keep(scenario scenarios.Scenario, result *engine.Result, size size) {
	violation := result.Violations[0]
	if signature := violation.Signature(); signature != s.signature {
		s.signature = signature
		clear(s.tried)
		clear(s.searched)
	}
	s.death = s.deaths.last()
	s.scenario, s.deviations, s.needed, s.size = scenario, result.Deviations,
		s.runner.PlanLimit.Spent, size
	s.scenario.Faults = usedPlan(s.deviations)
	s.steps = slices.Clone(s.recorder.steps)
	s.useful = sort.SearchInts(s.recorder.events, violation.Event+1)
	if s.death != nil { // The deadly step has no event.
		s.useful = len(s.steps)
	}
	s.fairPhase = slices.ContainsFunc(result.Events[:violation.Event+1],
		func(e history.Event) bool { return e.Kind == history.FairPhase })
}

// usedPlan returns the plan that allows the faults of a schedule, wherever they strike.
func usedPlan(deviations []engine.Deviation) (plan faults.Plan) {
	for _, d := range deviations {
		if d.Step.Kind == sim.Fault {
			plan.Add(faults.Entry{Kind: d.Step.Fault, Left: 1})
		}
	}
	return plan
}

// same reports whether a run fails as the smallest schedule does, or violates a promise where that
// schedule fails only out of contract. By its size a failure out of contract is never the smaller.
func (s *shrinker) same(scenario *scenarios.Scenario, result *engine.Result) bool {
	if len(result.Violations) == 0 {
		return false
	}
	first := result.Violations[0]
	return first.Signature() == s.signature ||
		s.size[outOfContract] > 0 && !result.OutOfContract(scenario, first)
}
