package shrink_test

import (
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/shrink"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/sim"
)

// A failure that does not depend on the phases of timers is shrunk to phase 0 and whole ticks.
func TestShrinkRemovesPhases(t *testing.T) {
	scenario := locktest.Scenario(locktest.Named(t, "name-order"), 3, 1, 1)
	scenario.Servers = 3
	runner := engine.NewRunner(t)
	profile := strategy.ProfileOf(t.Context(), runner, scenario)
	for schedule := range 10_000 {
		drawn := strategy.Timed(strategy.NewRandom(1, schedule), profile, 1, schedule)
		result := runner.Run(scenario, drawn)
		if !slices.ContainsFunc(result.Deviations, timed) || !result.Fails(scenario) {
			continue
		}
		_, short := shrink.Shrink(t.Context(), runner, *scenario, slices.Clone(result.Deviations),
			result.Violations[0].Signature())
		if slices.ContainsFunc(short, timed) {
			t.Errorf("shrunk to\n%s", recording.ListDeviations(new(engine.Result), short))
		}
		return
	}
	t.Fatal("no schedule fails")
}

// timed reports whether a deviation moves the phase of a timer, or lets time pass up to one.
func timed(d engine.Deviation) bool { return d.Step.Unlisted() && d.Step.Kind != sim.Fair }
