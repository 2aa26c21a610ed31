package strategy_test

import (
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/sim"
)

// Schedules with several servers draw phases and time steps, and a replay of one has the same
// trace. On a single server the strategy is the other one.
func TestTimed(t *testing.T) {
	scenario := locktest.Scenario(locktest.Named(t, "mutex"), 2, 1, 1)
	runner := engine.NewRunner(t)
	inner := strategy.Named("random")
	one := strategy.ProfileOf(t.Context(), runner, scenario)
	if s := inner(one, 1, 1); strategy.Timed(s, one, 1, 1) != s {
		t.Error("timers of a single server are shifted")
	}
	scenario.Servers = 3
	profile := strategy.ProfileOf(t.Context(), runner, scenario)
	schedules := map[sim.StepKind]int{}
	for schedule := range 64 {
		drawn := strategy.Timed(inner(profile, 1, schedule), profile, 1, schedule)
		result := runner.Run(scenario, drawn)
		trace, deviations := result.TraceHash, slices.Clone(result.Deviations)
		for kind := sim.Shift; kind <= sim.After; kind++ {
			if slices.ContainsFunc(deviations, func(d engine.Deviation) bool {
				return d.Step.Kind == kind
			}) {
				schedules[kind]++
			}
		}
		again := runner.Run(scenario, &engine.Replay{Deviations: deviations})
		if again.TraceHash != trace {
			t.Errorf("schedule %d differs when it is replayed", schedule)
		}
	}
	for kind := sim.Shift; kind <= sim.After; kind++ {
		if n := schedules[kind]; n < 8 || n > 56 {
			t.Errorf("%d of 64 schedules have a step %v", n, sim.Step{Kind: kind})
		}
	}
}
