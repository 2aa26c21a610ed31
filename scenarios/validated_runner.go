package scenarios

import (
	"context"
	"slices"
	"testing"
)

// A validatedRunner performs runs with the replay cache, and validates samples of them with live
// processes: every run with a violation or a leak, the first runs, and one in [validationInterval]
// of the others.
type validatedRunner struct {
	scenario  *Scenario
	cache     *replayCache
	real      *Runner
	runs      int
	validated int
	every     int             // one run in so many is validated without a reason
	mismatch  *Nondeterminism // how a live run differed
}

// How often cached runs are validated.
const (
	// one run in so many is validated, so that validation costs little
	validationInterval = 512
	firstValidated     = 64 // the first runs are all validated
)

func newValidatedRunner(scenario *Scenario, t *testing.T) *validatedRunner {
	return &validatedRunner{
		scenario: scenario, cache: newReplayCache(scenario, t),
		real: NewRunner(t),
	}
}

// run performs a run, from a snapshot unless that is nil, and cancels it when the context ends.
func (h *validatedRunner) run(ctx context.Context, runner *Runner, strategy Strategy,
	from *snapshot,
) *Result {
	result := runner.runOn(ctx, h.scenario, strategy, h.cache.on, from)
	h.runs++
	if result.cancelled || !h.samples(result) {
		return result
	}
	h.validated++
	if len(result.Violations) > 0 {
		ctx = context.Background() // A failure is confirmed even if the time is over.
	}
	end := -1
	if result.Pruned {
		end = result.Steps
	}
	played := h.real.runWithin(ctx, h.scenario, &replayTo{
		Replay{Deviations: result.Deviations},
		end,
	})
	if played.cancelled {
		return played
	}
	if played.TraceHash != result.TraceHash {
		h.mismatch = differenceOf(slices.Clone(result.Events), played.Events)
	}
	result.Violations, result.Panic, result.PanicProcess, result.Leak = played.Violations,
		played.Panic, played.PanicProcess, played.Leak
	return result
}

// samples reports whether a run is validated.
func (h *validatedRunner) samples(result *Result) bool {
	if len(result.Violations) > 0 || h.runs <= firstValidated || h.runs%h.every == 0 {
		return true
	}
	return !result.Pruned && slices.ContainsFunc(h.cache.last, h.cache.probeLeak)
}

// A replayTo replays a schedule up to a decision.
type replayTo struct {
	Replay
	end int // number of decisions; negative if the run continues to its end
}

// Choose returns the recorded step.
func (r *replayTo) Choose(index int, enabled []EnabledStep, defaultIndex int) int {
	if index == r.end {
		return prune
	}
	return r.Replay.Choose(index, enabled, defaultIndex)
}
