package interlock

import (
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
	"pgregory.net/rapid"
)

// CheckRapid checks the scenario under rapid. Every decision of a schedule is a draw, so that rapid
// shrinks a schedule that fails and writes a file that -rapid.failfile reproduces. The number of
// schedules is rapid's: the flag -rapid.checks or the variable RAPID_CHECKS. With the real client
// the test is skipped under the race detector.
//
// As [Check] does, CheckRapid runs in a child process, replays and writes counterexamples, and
// fails if a schedule of a sample differs when it runs twice.
func CheckRapid(t *testing.T, scenario scenarios.Scenario) {
	t.Helper()
	checked := demandSound(t, &scenario)
	if replayed, subtest := replays(t); replayed != nil && !replayed.applies(&checked, subtest) {
		return
	}
	isolate(t, &checked, func(verdict *verdict) {
		t.Helper()
		if replayRecorded(t, &checked, verdict) {
			return
		}
		var failed *engine.Result
		defer func() { // rapid ends the test.
			if failed != nil {
				t.Log(recordResult(t, &checked, failed.Deviations, verdict))
			}
		}()
		var twice repeater
		var differs error // A violation says more.
		runner := engine.NewRunner(t)
		rapid.Check(t, property(t, runner, &checked,
			func(result *engine.Result) { failed = result },
			func(_ *rapid.T, result *engine.Result) {
				if differs == nil {
					differs = twice.check(runner, &checked, result)
				}
			}))
		if differs != nil {
			verdict.fatalf(t, "%v", differs)
		}
		verdict.Outcome = recording.Passed
	})
}

// Property returns the property that [CheckRapid] checks, for callers of rapid. It ends the test if
// the scenario is not valid. The property runs in the process of its caller.
func Property(t *testing.T, scenario scenarios.Scenario) func(*rapid.T) {
	t.Helper()
	checked := demandSound(t, &scenario)
	runner, twice := engine.NewRunner(t), new(repeater)
	return property(t, runner, &checked, func(*engine.Result) {},
		func(rt *rapid.T, result *engine.Result) {
			if err := twice.check(runner, &checked, result); err != nil {
				rt.Fatal(err)
			}
		})
}

// property returns the property of the scenario. It hands runs to the functions failed and passed.
func property(t *testing.T, runner *engine.Runner, scenario *scenarios.Scenario,
	failed func(*engine.Result), passed func(*rapid.T, *engine.Result),
) func(*rapid.T) {
	return func(rt *rapid.T) {
		result := runner.Run(scenario, rapidDraws{rt})
		if result.Fails(scenario) {
			failed(result)
			rt.Fatalf("%s", describeRun(t, scenario, result))
		}
		passed(rt, result)
	}
}

// rapidDraws is the strategy that takes its decisions from rapid. The default policy's step comes
// first, because rapid shrinks towards the first.
type rapidDraws struct{ t *rapid.T }

func (r rapidDraws) Choose(_ int, enabled []sim.EnabledStep, defaultIndex int) int {
	if len(enabled) == 1 {
		return defaultIndex
	}
	steps := make([]sim.Step, len(enabled))
	for draw := range steps {
		steps[draw] = enabled[engine.UsualFirst(draw, defaultIndex)].Step
	}
	step := rapid.SampledFrom(steps).Draw(r.t, "step")
	return slices.IndexFunc(enabled, func(o sim.EnabledStep) bool { return o.Step == step })
}

// ChooseGoroutine decides as Choose does.
func (r rapidDraws) ChooseGoroutine(index int, choices []sim.EnabledStep) int {
	return r.Choose(index, choices, 0)
}
