package replay

import (
	"context"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// A ValidatedRunner performs runs with the replay cache, and validates samples of them with live
// processes: every run with a violation or a leak, the first runs, one in [ValidationInterval] of
// the others, and runs after a process did not reach the same state again.
type ValidatedRunner struct {
	scenario  *scenarios.Scenario
	Cache     *Cache
	live      *engine.Runner
	Runs      int // so far
	Validated int
	Every     int                    // one run in so many is validated without a reason
	Mismatch  *engine.Nondeterminism // how a live run differed
}

// How often cached runs are validated.
const (
	// one run in so many is validated, so that validation costs little
	ValidationInterval = 512
	firstValidated     = 64 // the first runs are all validated
)

// NewValidatedRunner returns a runner for one worker with the given cache.
func NewValidatedRunner(scenario *scenarios.Scenario, t *testing.T, cache *Cache) *ValidatedRunner {
	return &ValidatedRunner{scenario: scenario, Cache: cache, live: engine.NewRunner(t)}
}

// Run performs a run, from a snapshot unless that is nil, and cancels it when the context ends.
func (h *ValidatedRunner) Run(ctx context.Context, runner *engine.Runner, strategy engine.Strategy,
	from *engine.Snapshot,
) *engine.Result {
	result := runner.RunOn(ctx, h.scenario, strategy, h.Cache.On, from)
	h.Runs++
	if result.Cancelled || !h.samples(result) {
		return result
	}
	h.Validated++
	if len(result.Violations) > 0 {
		ctx = context.Background() // A failure is confirmed even if the time is over.
	}
	schedule := WitnessOf(result)
	played := h.live.RunWithin(ctx, h.scenario, schedule.strategy())
	if played.Cancelled {
		return played
	}
	astray := h.Cache.astray.Load()
	switch {
	case played.TraceHash != result.TraceHash:
		h.Mismatch = engine.FirstDifference(slices.Clone(result.Events), played.Events)
	case astray != 0:
		h.Mismatch = &engine.Nondeterminism{Text: history.ProcessName(astray) +
			" did not do the same again after the same inputs\n" + engine.LikelyCauses}
	}
	result.Violations, result.Panic, result.PanicProcess, result.Leak = played.Violations,
		played.Panic, played.PanicProcess, played.Leak
	return result
}

// samples reports whether a run is validated.
func (h *ValidatedRunner) samples(result *engine.Result) bool {
	if len(result.Violations) > 0 || h.Runs <= firstValidated || h.Runs%h.Every == 0 {
		return true
	}
	leaks := !result.Pruned && slices.ContainsFunc(h.Cache.last, h.Cache.ProbeLeak)
	return leaks || h.Cache.astray.Load() != 0
}

// A replayTo replays a schedule up to a decision.
type replayTo struct {
	engine.Replay
	end int // number of decisions; negative if the run continues to its end
}

// Choose returns the recorded step.
func (r *replayTo) Choose(index int, enabled []sim.EnabledStep, defaultIndex int) int {
	if index == r.end {
		return engine.Prune
	}
	return r.Replay.Choose(index, enabled, defaultIndex)
}
