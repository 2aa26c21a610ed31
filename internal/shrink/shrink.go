// Package shrink finds a short schedule that fails in the same way as a given one.
package shrink

import (
	"context"
	"slices"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/engine"
	"github.com/interlock-sim/interlock/internal/strategy"
	"github.com/interlock-sim/interlock/sim"
)

// shrinkRunsMax bounds the work of shrinking.
const shrinkRunsMax = 120_000

const (
	// searchSchedules is how many random schedules of a smaller scenario are tried.
	searchSchedules = 500
	// sparseSchedules is how many schedules are tried with each number of deviations up to
	// sparseMax.
	sparseSchedules = 1000
	sparseMax       = 3
)

// Shrink returns a scenario and a schedule that fail with the same signature as the given ones,
// with fewer faults, cycles and processes, and fewer deviations from the default policy. It ends
// when no single one of these can be removed, when it has tried long enough, or when the context
// ends; then it returns the best so far. The given schedule must fail; if it does not, Shrink
// returns it as it is.
//
// The plan of the given scenario allows the returned schedule, fault by fault: kind, phase, target
// and number of each. The plan of the returned scenario is the part that the schedule needs.
// Processes and servers keep their numbers in a smaller scenario, so that c1 in a plan is the same
// process there.
//
// If the given schedule panics, Shrink shrinks the panic, whatever the signature. Otherwise it
// rejects schedules that panic. A failure within the contract never becomes one out of contract;
// see [engine.Scenario.OutOfContract]. The reverse may happen: if a shorter form of a schedule out
// of contract violates a promise, Shrink continues with that.
//
// A smaller scenario has other schedules, so a short random search looks for the failure there.
// Within a scenario, deviations are removed in chunks of halving size, which is the first half of
// delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE
// TSE 2002). Faults are removed before anything else, because they are the hardest to reason about.
// At the end, many schedules with one, two and three deviations are tried.
//
// The result depends only on the arguments unless the context ends: the same failure always has the
// same short form.
func Shrink(ctx context.Context, r *engine.Runner, scenario engine.Scenario,
	deviations []engine.Deviation, signature string,
) (engine.Scenario, []engine.Deviation) {
	s := shrink(ctx, r, scenario, deviations, signature, shrinkRunsMax)
	return s.outcome(), s.deviations
}

// shrink is Shrink with a maximum number of runs, and returns the shrinker for what else it knows.
func shrink(ctx context.Context, r *engine.Runner, scenario engine.Scenario,
	deviations []engine.Deviation, signature string, runsMax int,
) *shrinker {
	s := &shrinker{
		runner: r, ctx: ctx, signature: signature, scenario: scenario,
		deviations: deviations, needed: scenario.Faults, runsMax: runsMax,
	}
	above, keyless := r.PlanLimit, r.NoKeys
	r.PlanLimit, r.NoKeys = &engine.PlanLimit{Plan: scenario.Faults}, true
	defer func() { r.PlanLimit, r.NoKeys = above, keyless }()
	if !s.begin() {
		return s
	}
	for s.fewerFaults() || s.smallerScenario() || s.fewerDeviations() ||
		s.sparser(s.scenario, len(s.deviations)-1) {
	}
	return s
}

// A shrinker holds the shortest schedule so far. The plan of its scenario is what the shrinker aims
// for, such as fewer faults or those of one kind; the plan limit of its runs keeps all of them
// within the given plan.
type shrinker struct {
	runner     *engine.Runner
	ctx        context.Context
	signature  string
	scenario   engine.Scenario
	deviations []engine.Deviation
	needed     faults.Plan // the part of the given plan that the schedule needs
	// the schedule fails only out of contract; see [engine.Scenario.OutOfContract]
	outOfContract bool
	runs, runsMax int
	steps         int             // of the last run
	searched      map[string]bool // scenarios in which a random search found nothing
}

// outcome returns the scenario with the plan that its schedule needs.
func (s *shrinker) outcome() engine.Scenario {
	scenario := s.scenario
	scenario.Faults = s.needed
	return scenario
}

// begin runs the given schedule and reports whether it fails.
func (s *shrinker) begin() bool {
	scenario := s.scenario
	result := s.run(&scenario, &engine.Replay{Deviations: s.deviations})
	given := func(v *history.Violation) bool { return v.Signature() == s.signature }
	if result == nil || !slices.ContainsFunc(result.Violations, given) {
		return false
	}
	first := result.Violations[0]
	s.signature, s.outOfContract = first.Signature(), scenario.OutOfContract(result, first)
	s.keep(scenario, result)
	return true
}

// try runs a candidate, and keeps it if it fails in the same way.
func (s *shrinker) try(scenario engine.Scenario, strategy engine.Strategy) bool {
	result := s.run(&scenario, strategy)
	if result == nil || !s.same(&scenario, result) {
		return false
	}
	s.keep(scenario, result)
	return true
}

// run runs a candidate and sorts its violations. It returns nil if no time is left.
func (s *shrinker) run(scenario *engine.Scenario, strategy engine.Strategy) *engine.Result {
	if s.runs >= s.runsMax || s.ctx.Err() != nil {
		return nil
	}
	s.runs++
	result := s.runner.RunWithin(s.ctx, scenario, strategy)
	s.steps = result.Steps
	scenario.Lead(result, s.signature)
	return result
}

// keep makes a candidate the shortest schedule so far. Deviations that were not enabled are
// dropped.
func (s *shrinker) keep(scenario engine.Scenario, result *engine.Result) {
	s.scenario, s.deviations, s.needed = scenario, result.Deviations, s.runner.PlanLimit.Spent
}

// same reports whether a run fails as the shortest schedule does, or violates a promise where that
// schedule fails only out of contract.
func (s *shrinker) same(scenario *engine.Scenario, result *engine.Result) bool {
	if len(result.Violations) == 0 {
		return false
	}
	first := result.Violations[0]
	excused := scenario.OutOfContract(result, first)
	switch {
	case s.outOfContract && !excused:
		s.signature, s.outOfContract = first.Signature(), false
		return true
	case excused && !s.outOfContract:
		return false
	}
	return first.Signature() == s.signature
}

// search looks for the failure in another scenario.
func (s *shrinker) search(scenario engine.Scenario) bool {
	if name := scenario.String(); s.searched[name] {
		return false
	} else if s.searched == nil {
		s.searched = map[string]bool{name: true}
	} else {
		s.searched[name] = true
	}
	for i := range searchSchedules {
		if s.try(scenario, strategy.NewRandom(0, i)) {
			return true
		}
	}
	return s.sparser(scenario, sparseMax)
}

// sparser looks for a schedule of the scenario with fewer deviations, the fewest first.
func (s *shrinker) sparser(scenario engine.Scenario, deviations int) bool {
	for n := 1; n <= min(deviations, sparseMax); n++ {
		for i := range sparseSchedules {
			if s.try(scenario, &strategy.Sparse{
				Source: strategy.NewRandom(uint64(n), i), Left: n, Horizon: s.steps,
				Fair: s.fair(),
			}) {
				return true
			}
		}
	}
	return false
}

// fair reports whether the schedule ends with the fair phase.
func (s *shrinker) fair() bool {
	last := len(s.deviations) - 1
	return last >= 0 && s.deviations[last].Step.Kind == sim.Fair
}

// fewerFaults looks for a failure with fewer faults than the schedule has, of any kinds.
func (s *shrinker) fewerFaults() bool {
	used := 0
	for i, d := range s.deviations {
		if d.Step.Kind != sim.Fault {
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
	return fewerCycles.Cycles > 0 && (s.try(fewerCycles,
		&engine.Replay{Deviations: s.deviations}) ||
		s.search(fewerCycles)) ||
		fewerClients.Clients > 0 && (s.try(fewerClients,
			&engine.Replay{Deviations: s.deviations}) ||
			s.search(fewerClients))
}

// fewerDeviations tries to remove deviations, and reports whether it could.
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
	return s.try(s.scenario,
		&engine.Replay{Deviations: slices.Concat(s.deviations[:from], s.deviations[to:])})
}

// allowOnlyUsedFaults allows candidates only the faults that the schedule has.
func (s *shrinker) allowOnlyUsedFaults() {
	s.scenario.Faults = faults.Plan{}
	for _, d := range s.deviations {
		if d.Step.Kind == sim.Fault {
			s.scenario.Faults.Of[d.Step.Fault]++
		}
	}
}
