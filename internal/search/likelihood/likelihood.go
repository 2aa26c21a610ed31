// Package likelihood tells how likely the violation of a schedule was at each of its steps, and
// where another choice avoids it.
package likelihood

import (
	"context"
	"slices"
	"sort"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

const (
	samplesMax = 100  // random continuations from a state
	samplesMin = 20   // if a schedule has too many steps for that, only some of its states count
	leakSteps  = 1000 // the work of a run that leaks goroutines
)

// The bounds of the work on the curve and of the search for another choice, in steps of runs: a
// bound in time would make the result depend on the machine. Tests of something else lower them.
var (
	CurveStepsMax     = 200_000
	AvoidanceStepsMax = 80_000
)

// Of returns the likelihood of the violation with the given signature along a failing schedule. It
// returns nil if the schedule does not fail in this way, if the context ends, or if the client is
// the real one, whose runs are slow. The result depends on the arguments only.
//
// For each state of the schedule in which more than one step was enabled, it runs random
// continuations, and counts those that violate the property with the same signature. The curve
// ends with the first state from which all do, up to the end of the schedule: the point of no
// return.
//
// Then it looks for the last decision at which another choice, followed by the default policy,
// leads to a run without violations. Faults are no such choice.
func Of(ctx context.Context, r *engine.Runner, scenario *scenarios.Scenario,
	deviations []engine.Deviation, signature string,
) *explain.Likelihood {
	if scenario.Client.Library() {
		return nil
	}
	keyless := r.NoKeys
	r.NoKeys = true
	defer func() { r.NoKeys = keyless }()
	e := &estimator{
		ctx: ctx, runner: r, scenario: scenario, deviations: deviations, signature: signature,
	}
	if !e.begin() {
		return nil
	}
	l := &explain.Likelihood{}
	l.Curve, l.Samples = e.curve()
	if rise := l.Rise(); rise >= 0 {
		step := l.Curve[rise].Step
		l.Jump = &explain.Decision{Step: step, Taken: e.decisions[step].taken.String()}
	}
	l.Avoidable = e.avoidable()
	if ctx.Err() != nil {
		return nil
	}
	return l
}

// An estimator estimates the likelihood along one schedule.
type estimator struct {
	ctx        context.Context
	runner     *engine.Runner
	scenario   *scenarios.Scenario
	deviations []engine.Deviation
	signature  string

	decisions []decision // of the schedule, up to the one with which the violation comes
	runSteps  int        // of the schedule
	work      int        // the steps of all runs since the work was last reset
}

// A decision is what a schedule chooses, and could have chosen.
type decision struct {
	taken        sim.Step
	alternatives []sim.Step // other enabled steps, the default first; no faults
	choice       bool       // more than one step was enabled
}

// begin runs the schedule, records its decisions, and reports whether it fails.
func (e *estimator) begin() bool {
	record := &recorder{replay: e.replay(len(e.deviations))}
	result := e.run(record)
	if !e.violated(result) {
		return false
	}
	e.runSteps = max(1, result.Steps) // A process may panic before the first step.
	// A run that ends after some decisions shows whether they have violated the property, unless
	// the end of the run decides that.
	made := len(record.decisions)
	needed := sort.Search(made, func(n int) bool {
		return e.violated(e.run(&prefix{
			replay: e.replay(len(e.deviations)), steps: n, then: ending{},
		}))
	})
	e.decisions = record.decisions[:needed]
	return e.ctx.Err() == nil
}

// replay returns a strategy for the schedule with its first deviations only.
func (e *estimator) replay(deviations int) *engine.Replay {
	return &engine.Replay{Deviations: e.deviations[:deviations]}
}

// run performs a run and counts its work.
func (e *estimator) run(by engine.Strategy) *engine.Result {
	result := e.runner.RunWithin(e.ctx, e.scenario, by)
	e.work += result.Steps * engine.StepCost(e.scenario)
	if result.Leak != "" {
		e.work += leakSteps
	}
	return result
}

func (e *estimator) violated(result *engine.Result) bool {
	return slices.ContainsFunc(result.Violations, func(v *history.Violation) bool {
		return v.Signature() == e.signature
	})
}

// A recorder records the decisions of a schedule.
type recorder struct {
	replay    *engine.Replay
	decisions []decision
}

// Choose returns the recorded step.
func (r *recorder) Choose(index int, enabled []sim.EnabledStep, defaultIndex int) int {
	chosen := r.replay.Choose(index, enabled, defaultIndex)
	d := decision{taken: engine.Chosen(chosen, enabled), choice: len(enabled) > 1}
	for draw := range enabled {
		i := engine.UsualFirst(draw, defaultIndex)
		if i != chosen && enabled[i].Kind != sim.Fault {
			d.alternatives = append(d.alternatives, enabled[i].Step)
		}
	}
	r.decisions = append(r.decisions, d)
	return chosen
}

// ChooseGoroutine returns the recorded choice.
func (r *recorder) ChooseGoroutine(index int, choices []sim.EnabledStep) int {
	return r.Choose(index, choices, 0)
}

// A prefix is the strategy that follows a schedule for a number of steps, and then another
// strategy.
type prefix struct {
	replay *engine.Replay
	steps  int
	then   engine.Strategy
}

// Choose returns the step of the schedule, or the choice of the other strategy.
func (p *prefix) Choose(index int, enabled []sim.EnabledStep, defaultIndex int) int {
	if index < p.steps {
		return p.replay.Choose(index, enabled, defaultIndex)
	}
	return p.then.Choose(index, enabled, defaultIndex)
}

// ChooseGoroutine returns the choice of the schedule or of the other strategy.
func (p *prefix) ChooseGoroutine(index int, choices []sim.EnabledStep) int {
	if index < p.steps {
		return p.replay.ChooseGoroutine(index, choices)
	}
	if then, ok := p.then.(engine.GoroutineStrategy); ok {
		return then.ChooseGoroutine(index, choices)
	}
	return 0
}

// ending is the strategy that ends the run.
type ending struct{}

// Choose ends the run.
func (ending) Choose(int, []sim.EnabledStep, int) int { return engine.Prune }

// ChooseGoroutine ends the run.
func (ending) ChooseGoroutine(int, []sim.EnabledStep) int { return engine.Prune }

// curve returns the bug-probability curve, and the number of samples of each of its points.
func (e *estimator) curve() ([]explain.Point, int) {
	var steps []int
	for step := range e.decisions {
		if e.decisions[step].choice {
			steps = append(steps, step)
		}
	}
	steps = append(steps, len(e.decisions))
	coarse := thinned(steps, CurveStepsMax/(samplesMin*e.runSteps*engine.StepCost(e.scenario)))
	failed := make(map[int]int, len(coarse)) // by step
	samples := 0
	for e.work = 0; samples < samplesMax && e.work < CurveStepsMax; samples++ {
		for _, step := range coarse {
			failed[step] += e.sample(step, samples)
		}
	}
	e.refine(steps, failed, samples)
	var curve []explain.Point
	for _, step := range steps {
		if n, ok := failed[step]; ok {
			curve = append(curve, explain.Point{
				Step: step, Probability: float64(n) / float64(samples),
			})
		}
	}
	for len(curve) > 1 && curve[len(curve)-2].Probability == 1 {
		curve = curve[:len(curve)-1]
	}
	return curve, samples
}

// thinned returns about as many of the steps as wanted, evenly spread, with the first and the last.
func thinned(steps []int, wanted int) []int {
	wanted = max(wanted, 2)
	if len(steps) <= wanted {
		return steps
	}
	some := make([]int, wanted)
	for i := range some {
		some[i] = steps[i*(len(steps)-1)/(wanted-1)]
	}
	return some
}

// refine adds points by bisection between the two points with the largest rise, until they are
// neighbors.
func (e *estimator) refine(steps []int, failed map[int]int, samples int) {
	for {
		last, rise, from, to := 0, 0, 0, 0
		for i := 1; i < len(steps); i++ {
			n, ok := failed[steps[i]]
			if !ok {
				continue
			}
			if n-failed[steps[last]] >= max(rise, 1) {
				rise, from, to = n-failed[steps[last]], last, i
			}
			last = i
		}
		if to-from <= 1 || e.ctx.Err() != nil {
			return
		}
		middle := steps[(from+to)/2]
		failed[middle] = 0
		for i := range samples {
			failed[middle] += e.sample(middle, i)
		}
	}
}

// sample returns 1 if a random continuation from the state before a step fails, or else 0.
func (e *estimator) sample(step, number int) int {
	if e.ctx.Err() == nil && e.violated(e.run(&prefix{
		replay: e.replay(len(e.deviations)), steps: step,
		then: strategy.NewRandom(uint64(step), number),
	})) {
		return 1
	}
	return 0
}

// avoidable returns the last decision at which another choice avoids every violation, or nil if the
// search finds none within its bound.
func (e *estimator) avoidable() *explain.Decision {
	e.work = 0
	for step, d := range slices.Backward(e.decisions) {
		for _, other := range d.alternatives {
			if e.work >= AvoidanceStepsMax || e.ctx.Err() != nil {
				return nil
			}
			result := e.run(&engine.Replay{Deviations: Instead(e.deviations, step, other)})
			if len(result.Violations) == 0 && !result.Unsettled && !result.CutOff &&
				!result.Undecided {
				return &explain.Decision{
					Step: step, Taken: d.taken.String(), Instead: other.String(),
				}
			}
		}
	}
	return nil
}

// Instead returns the schedule that takes another step at a decision, and follows the default
// policy from there on.
func Instead(deviations []engine.Deviation, index int, step sim.Step) []engine.Deviation {
	kept := slices.IndexFunc(deviations, func(d engine.Deviation) bool { return d.Index >= index })
	if kept < 0 {
		kept = len(deviations)
	}
	return append(slices.Clone(deviations[:kept]), engine.Deviation{Index: index, Step: step})
}
