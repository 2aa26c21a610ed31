// Package shrink finds a short schedule that fails in the same way as a given one.
package shrink

import (
	"context"
	"slices"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// Shrink returns a scenario and a schedule that fail with the same signature as the given ones and
// are smaller; see [size]. The given schedule must fail; if it does not, Shrink returns it
// unchanged.
//
// The result is 1-minimal: without any one of its faults, processes, cycles or deviations, it does
// not fail. A run of ticks counts as one deviation. If the context or the budget of runs ends,
// Shrink returns the smallest schedule so far, which may not be 1-minimal.
//
// The plan of the given scenario allows the returned schedule, fault by fault: kind, phase, target
// and number of each. The plan of the returned scenario is the part that the schedule needs.
// Processes may exchange their numbers if the plan allows it.
//
// If the given schedule panics, Shrink shrinks the panic, whatever the signature. Otherwise it
// rejects schedules that panic. A failure within the contract never becomes one out of contract;
// see [engine.Result.OutOfContract]. The reverse may happen: if a shorter form of a schedule out
// of contract violates a promise, Shrink continues with that.
//
// The result depends only on the arguments unless the context ends: the same failure always has the
// same short form.
func Shrink(ctx context.Context, r *engine.Runner, scenario scenarios.Scenario,
	deviations []engine.Deviation, signature string,
) (scenarios.Scenario, []engine.Deviation) {
	s := shrink(ctx, r, scenario, deviations, signature, costMax)
	return s.outcome(), s.deviations
}

// shrink is Shrink with a bound on the cost of all runs, and returns the shrinker for what else it
// knows.
func shrink(ctx context.Context, r *engine.Runner, scenario scenarios.Scenario,
	deviations []engine.Deviation, signature string, bound int,
) *shrinker {
	s := newShrinker(ctx, r, scenario, deviations, signature, bound)
	s.start()
	return s
}

// newShrinker returns a shrinker that has done nothing yet.
func newShrinker(ctx context.Context, r *engine.Runner, scenario scenarios.Scenario,
	deviations []engine.Deviation, signature string, bound int,
) *shrinker {
	return &shrinker{
		runner: r, ctx: ctx, signature: signature, plan: scenario.Faults, scenario: scenario,
		deviations: deviations, needed: scenario.Faults,
		stepCost: engine.StepCost(&scenario), costMax: bound,
		searched: make(map[string]bool), tried: make(map[uint64]bool),
	}
}

// start shrinks the given schedule.
func (s *shrinker) start() {
	s.withinPlan(func() {
		if s.begin() {
			s.shrink()
		}
	})
}

// withinPlan calls a function whose runs stay within the given plan.
func (s *shrinker) withinPlan(perform func()) {
	r := s.runner
	above, keyless := r.PlanLimit, r.NoKeys
	r.PlanLimit, r.NoKeys = &engine.PlanLimit{Plan: s.plan}, true
	defer func() { r.PlanLimit, r.NoKeys = above, keyless }()
	perform()
}

// A shrinker holds the smallest schedule so far. The plan of its scenario is what the shrinker aims
// for: the faults that the schedule has. The plan limit of its runs keeps all of them within the
// given plan.
type shrinker struct {
	runner    *engine.Runner
	ctx       context.Context
	signature string
	plan      faults.Plan // as given

	cause     *report.Cause // of the smallest schedule so far; nil if any will do
	searching bool          // a search is under way, which may find any failure

	scenario   scenarios.Scenario
	deviations []engine.Deviation
	steps      []sim.Step  // all that the schedule decides, up to its fair phase
	useful     int         // number of those before the violation
	fairPhase  bool        // the violation is in the fair phase
	needed     faults.Plan // the part of the given plan that the schedule needs
	size       size

	recorder recorder        // of the last run
	runs     int             // so far
	cost     int             // of these; see [costMax]
	costMax  int             // bound on cost
	stepCost int             // of a step
	deaths   *Deaths         // nil unless runs may end the program
	death    *engine.Death   // of the smallest schedule so far
	second   *engine.Runner  // for further runs of the same schedule
	searched map[string]bool // scenarios in which a random search found nothing
	tried    map[uint64]bool // schedules that are no smaller or do not fail, by hash
}

// shrink applies passes until none of them finds a smaller schedule. A pass keeps what it finds and
// reports whether it found anything. Passes for what matters most come first, after those that are
// cheap and shorten all later runs. A fault of another kind comes before the searches in smaller
// scenarios: each new kind needs searches of its own.
func (s *shrinker) shrink() {
	s.defaultPolicy()
	s.projections()
	s.fewerDeviations()
	for s.otherFault() || s.fewerFaults() || s.fewerProcesses() || s.fewerThreads() ||
		s.fewerCycles() || s.fewerDeviations() || s.searchHere() {
	}
}

// outcome returns the scenario with the plan that its schedule needs.
func (s *shrinker) outcome() scenarios.Scenario {
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
	s.keep(scenario, result, sizeOf(&scenario, result))
	return true
}
