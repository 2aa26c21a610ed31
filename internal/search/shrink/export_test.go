package shrink

import (
	"context"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/scenarios"
)

// A Measured is the result of Shrink, with its size and the number of runs that it took.
type Measured struct {
	Scenario   scenarios.Scenario
	Deviations []engine.Deviation
	Runs       int
	Faults     int
	Switches   int
	Units      [][2]int // bounds of what can be dropped among the deviations
}

// Measure is Shrink, and returns more.
func Measure(ctx context.Context, r *engine.Runner, scenario scenarios.Scenario,
	given []engine.Deviation, signature string,
) Measured {
	s := shrink(ctx, r, scenario, given, signature, costMax)
	return Measured{
		s.outcome(), s.deviations, s.runs, s.size[faultCount], s.size[switches],
		unitBounds(s.deviations),
	}
}
