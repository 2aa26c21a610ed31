package scenarios

import (
	"context"
	"slices"
)

// shrinkRunsMax bounds the work of shrinking.
const shrinkRunsMax = 4000

// Shrink returns a scenario and a schedule that fail with the same signature as the given ones, with fewer cycles,
// processes, faults and deviations from the default policy. It ends when no single one of these can be left out, when
// it has tried for long enough, or when the context ends; what it has reached by then stands. The schedule that is
// given must fail.
//
// Faults go before other deviations, because a reader who has to think of one fault less is helped most. Removing
// chunks of halving size is the first half of delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating
// Failure-Inducing Input", IEEE TSE 2002); the complements are left out, as replay takes the default where a
// deviation is gone.
func (r *Runner) Shrink(ctx context.Context, scenario Scenario, deviations []Deviation, signature string) (Scenario, []Deviation) {
	s := &shrinker{runner: r, ctx: ctx, signature: signature, scenario: scenario, deviations: deviations}
	for s.smallerScenario() || s.fewerDeviations() {
	}
	return s.scenario, s.deviations
}

type shrinker struct {
	runner     *Runner
	ctx        context.Context
	signature  string
	scenario   Scenario
	deviations []Deviation
	runs       int
}

// try runs a candidate and keeps it if it fails in the same way and is no longer than what there was.
func (s *shrinker) try(scenario Scenario, deviations []Deviation) bool {
	if s.runs >= shrinkRunsMax || s.ctx.Err() != nil {
		return false
	}
	s.runs++
	result := s.runner.Run(&scenario, &Replay{Deviations: deviations})
	if !slices.Contains(signatures(result), s.signature) {
		return false
	}
	// What the run did may be less than what was asked for: deviations that could not happen are gone for good.
	s.scenario, s.deviations = scenario, result.Deviations
	return true
}

func signatures(result *Result) []string {
	list := make([]string, len(result.Violations))
	for i, v := range result.Violations {
		list[i] = v.Signature()
	}
	return list
}

func (s *shrinker) smallerScenario() bool {
	fewerCycles, fewerClients := s.scenario, s.scenario
	fewerCycles.Cycles--
	fewerClients.Clients--
	return fewerCycles.Cycles > 0 && s.try(fewerCycles, s.deviations) ||
		fewerClients.Clients > 0 && s.try(fewerClients, s.deviations)
}

// fewerDeviations tries to leave something out of the schedule, and tells whether it could.
func (s *shrinker) fewerDeviations() bool {
	for i, d := range s.deviations {
		if d.Step.Kind == Fault && s.tryWithout(i, i+1) {
			return true
		}
	}
	for size := len(s.deviations); size >= 1; size /= 2 {
		// From the end: what comes early decides what the rest means.
		for end := len(s.deviations); end > 0; end -= size {
			if s.tryWithout(max(0, end-size), end) {
				return true
			}
		}
	}
	return false
}

func (s *shrinker) tryWithout(from, to int) bool {
	return s.try(s.scenario, slices.Concat(s.deviations[:from], s.deviations[to:]))
}
