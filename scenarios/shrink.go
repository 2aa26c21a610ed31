package scenarios

import (
	"context"
	"slices"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
)

// shrinkRunsMax bounds the work of shrinking.
const shrinkRunsMax = 120_000

const (
	// searchSchedules is how many random schedules of a smaller scenario are tried.
	searchSchedules = 500
	// sparseSchedules is how many schedules with one, two and so on up to sparseMax deviations are tried.
	sparseSchedules = 1000
	sparseMax       = 3
)

// Shrink returns a scenario and a schedule that fail with the same signature as the given ones, with fewer faults,
// cycles and processes, and fewer deviations from the default policy. It ends when no single one of these can be left
// out, when it has tried for long enough, or when the context ends; what it has reached by then stands. The schedule
// that is given must fail.
//
// A smaller scenario has other schedules, so there a short search looks for the failure anew. Within a scenario,
// deviations are left out in chunks of halving size, the first half of delta debugging (Zeller and Hildebrandt,
// "Simplifying and Isolating Failure-Inducing Input", IEEE TSE 2002); the complements are left out, as replay takes
// the default where a deviation is gone. Faults go before all else, because a reader who has to think of one fault
// less is helped most. At last, many schedules with one, two and three deviations
// are tried.
func (r *Runner) Shrink(ctx context.Context, scenario Scenario, deviations []Deviation, signature string) (Scenario, []Deviation) {
	s := &shrinker{runner: r, ctx: ctx, signature: signature, scenario: scenario, deviations: deviations, excused: true}
	s.try(scenario, &Replay{Deviations: deviations})
	for s.fewerFaults() || s.smallerScenario() || s.fewerDeviations() || s.sparser(s.scenario, len(s.deviations)-1) {
	}
	s.allowOnlyUsedFaults()
	return s.scenario, s.deviations
}

type shrinker struct {
	runner     *Runner
	ctx        context.Context
	signature  string
	scenario   Scenario
	deviations []Deviation
	excused    bool // the lock does not promise what the schedule breaks; see [Scenario.Excuses]
	runs       int
	steps      int             // of the last run
	searched   map[string]bool // scenarios in which a random search has found nothing
}

// try runs a candidate and keeps it if it fails in the same way.
func (s *shrinker) try(scenario Scenario, strategy Strategy) bool {
	if s.runs >= shrinkRunsMax || s.ctx.Err() != nil {
		return false
	}
	s.runs++
	result := s.runner.runWithin(s.ctx, &scenario, strategy)
	s.steps = result.Steps
	i := slices.IndexFunc(result.Violations, func(v *history.Violation) bool { return v.Signature() == s.signature })
	if i < 0 {
		return false
	}
	excused := scenario.Excuses(result, result.Violations[i])
	if excused && !s.excused {
		return false // A failure must not turn into what the lock does not promise. The other way round is welcome.
	}
	s.excused = excused
	// What the run did may be less than what was asked for: deviations that could not happen are gone for good.
	s.scenario, s.deviations = scenario, result.Deviations
	return true
}

// search looks for the failure in another scenario.
func (s *shrinker) search(scenario Scenario) bool {
	if name := scenario.String(); s.searched[name] {
		return false
	} else if s.searched == nil {
		s.searched = map[string]bool{name: true}
	} else {
		s.searched[name] = true
	}
	for i := range searchSchedules {
		if s.try(scenario, NewRandom(0, i)) {
			return true
		}
	}
	return s.sparser(scenario, sparseMax)
}

// sparser looks for a schedule of the scenario with at most so many deviations, the fewest first.
func (s *shrinker) sparser(scenario Scenario, deviations int) bool {
	for n := 1; n <= min(deviations, sparseMax); n++ {
		for i := range sparseSchedules {
			if s.try(scenario, &sparse{source: NewRandom(uint64(n), i), left: n, horizon: s.steps, fair: s.fair()}) {
				return true
			}
		}
	}
	return false
}

// fair tells whether the schedule ends in that the fair phase begins.
func (s *shrinker) fair() bool {
	last := len(s.deviations) - 1
	return last >= 0 && s.deviations[last].Step.Kind == Fair
}

// fewerFaults looks for a failure that needs fewer faults than the schedule has, be they of other kinds.
func (s *shrinker) fewerFaults() bool {
	used := 0
	for i, d := range s.deviations {
		if d.Step.Kind != Fault {
			continue
		}
		used++
		if s.tryWithout(i, i+1) {
			return true
		}
	}
	if used == 0 {
		return false
	}
	for kind := range faults.Kinds {
		if s.scenario.Faults.Allows(kind) {
			alone := s.scenario
			alone.Faults = faults.Plan{}
			alone.Faults.Of[kind] = used - 1
			if s.search(alone) {
				return true
			}
			if used == 1 {
				return false // Without a fault, the kind makes no difference.
			}
		}
	}
	mixed := s.scenario
	mixed.Faults = faults.Plan{Any: used - 1}
	return used > 2 && s.search(mixed)
}

func (s *shrinker) smallerScenario() bool {
	s.allowOnlyUsedFaults() // Or else a smaller scenario might be found to fail with more of them.
	fewerCycles, fewerClients := s.scenario, s.scenario
	fewerCycles.Cycles--
	fewerClients.Clients--
	return fewerCycles.Cycles > 0 && (s.try(fewerCycles, &Replay{Deviations: s.deviations}) || s.search(fewerCycles)) ||
		fewerClients.Clients > 0 && (s.try(fewerClients, &Replay{Deviations: s.deviations}) || s.search(fewerClients))
}

// fewerDeviations tries to leave something out of the schedule, and tells whether it could.
func (s *shrinker) fewerDeviations() bool {
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

// tryWithout tries the schedule without some deviations.
func (s *shrinker) tryWithout(from, to int) bool {
	return s.try(s.scenario, &Replay{Deviations: slices.Concat(s.deviations[:from], s.deviations[to:])})
}

// allowOnlyUsedFaults takes out of the scenario's plan what the schedule does not need.
func (s *shrinker) allowOnlyUsedFaults() {
	exact := s.scenario
	exact.Faults = faults.Plan{}
	for _, d := range s.deviations {
		if d.Step.Kind == Fault {
			exact.Faults.Of[d.Step.Fault]++
		}
	}
	s.try(exact, &Replay{Deviations: s.deviations})
}
