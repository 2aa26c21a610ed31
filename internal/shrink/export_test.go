package shrink

import (
	"context"

	"github.com/interlock-sim/interlock/internal/engine"
)

// Counted is Shrink, and returns the number of runs too.
func Counted(ctx context.Context, r *engine.Runner, scenario engine.Scenario,
	deviations []engine.Deviation, signature string,
) (engine.Scenario, []engine.Deviation, int, [7]int) {
	s := shrink(ctx, r, scenario, deviations, signature)
	return s.outcome(), s.deviations, s.runs, s.size
}
