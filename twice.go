package interlock

import (
	"context"
	"fmt"
	"slices"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/scenarios"
)

// twiceEvery is how often a schedule of rapid or of the fuzzer runs twice: one of so many, as in a
// search of [Check]. An input of a fuzzer's corpus always runs twice, in a process of its own.
const twiceEvery = strategy.ChunkSchedules

// A repeater runs schedules that passed a second time: the first, one of [twiceEvery], and all that
// follow one that differed, so that a caller who runs that one again sees it differ again.
type repeater struct {
	runs    int
	differs bool
}

// check returns an error if the schedule of a run is one to run twice and differs.
func (r *repeater) check(runner *engine.Runner, scenario *scenarios.Scenario,
	result *engine.Result,
) error {
	r.runs++
	if r.runs%twiceEvery != 1 && !r.differs {
		return nil
	}
	deviations := slices.Clone(result.Deviations)
	again := func() engine.Strategy { return &engine.Replay{Deviations: deviations} }
	n := runner.RunAgain(context.Background(), scenario, r.runs-1, again(), result)
	if n == nil {
		return nil
	}
	r.differs = true
	runner.Locate(context.Background(), scenario, again, n)
	return fmt.Errorf("%v: nothing found so far, but that says too little: nondeterministic: %w",
		scenario, n)
}
