package shrink

import (
	"context"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/scenarios"
)

// Shorten shrinks the failed schedule of a report, or else the first one out of contract, and
// records it; see [Shrink]. The first violation of the counterexample is the schedule's
// panic, or else the first violation in the report. If a shorter form of a schedule out of contract
// violates a promise, the lock has failed, and Shorten changes the report accordingly. Shorten
// returns nil if the report has no such schedule.
//
// If a schedule does not fail in every run, the lock is nondeterministic, and the recording says in
// how many of [recording.ReproductionRuns] it fails. Shorten returns an error if it fails in none
// of them. If only the short form does not fail, the schedule is recorded as it was found.
func Shorten(ctx context.Context, r *engine.Runner, from *campaign.Campaign,
	found report.Report,
) (*recording.Counterexample, error) {
	runs := found.Common()
	failure := runs.Failure
	if failure == nil {
		failure = runs.OutOfContract
	}
	if failure == nil {
		return nil, nil
	}
	c, err := shorten(ctx, r, from, failure, failure.Violations[0].Signature(), costMax)
	if err != nil {
		return nil, err
	}
	if runs.Failure == nil && !c.Result.OutOfContract(&c.Scenario, c.Result.Violations[0]) {
		runs.Failure = failure
	}
	return c, nil
}

// shorten shrinks a failure with a signature within a bound on the cost of its runs, and records
// it.
func shorten(ctx context.Context, r *engine.Runner, from *campaign.Campaign,
	failure *report.Failure, signature string, budget int,
) (*recording.Counterexample, error) {
	if failure.Unstable {
		return shortenUnstable(ctx, r, from, failure, signature, budget)
	}
	s := shrink(ctx, r, from.ScenarioOf(failure), failure.Deviations, signature, budget)
	return s.record(from, failure, signature, budget)
}

// record records the smallest schedule of a failure with a signature.
func (s *shrinker) record(from *campaign.Campaign, failure *report.Failure, signature string,
	budget int,
) (*recording.Counterexample, error) {
	r, given := s.runner, from.ScenarioOf(failure)
	if scenario := s.outcome(); !repeats(r, &scenario, s.deviations) {
		return shortenUnstable(s.ctx, r, from, failure, signature, budget)
	}
	c, err := recording.NewCounterexample(r, s.outcome(), s.deviations, s.signature, from.Seed,
		failure.Schedule)
	if err != nil {
		c, err = recording.NewCounterexample(r, given, failure.Deviations, signature, from.Seed,
			failure.Schedule)
	}
	if err != nil {
		return shortenUnstable(s.ctx, r, from, failure, signature, budget)
	}
	return c, err
}

// repeatRuns is how many runs of a short schedule must be alike.
const repeatRuns = 5

// repeats reports whether runs of a schedule are alike and violate a property.
func repeats(r *engine.Runner, scenario *scenarios.Scenario, deviations []engine.Deviation) bool {
	first := r.Run(scenario, &engine.Replay{Deviations: deviations})
	hash, violates := first.TraceHash, len(first.Violations) > 0
	for range repeatRuns - 1 {
		if r.Run(scenario, &engine.Replay{Deviations: deviations}).TraceHash != hash {
			return false
		}
	}
	return violates
}

// shortenUnstable shrinks and records a schedule that does not fail in every run. The short form
// must fail at least half as often as the schedule.
func shortenUnstable(ctx context.Context, r *engine.Runner, from *campaign.Campaign,
	failure *report.Failure, signature string, budget int,
) (*recording.Counterexample, error) {
	given := from.ScenarioOf(failure)
	found := recording.Reproduce(r, &given, failure.Deviations, signature)
	if found.Failures > 0 {
		s := shrink(ctx, r, given, failure.Deviations, signature, budget)
		scenario := s.outcome()
		short := recording.Reproduce(r, &scenario, s.deviations, s.signature)
		if 2*short.Failures >= found.Failures {
			if c, err := recordUnstable(r, scenario, s.deviations, s.signature, from,
				failure, short); err == nil {
				return c, nil
			}
		}
	}
	return recordUnstable(r, given, failure.Deviations, signature, from, failure, found)
}

// recordUnstable runs a schedule until it fails, at most [recording.ReproductionRuns] times, and
// records it.
func recordUnstable(r *engine.Runner, scenario scenarios.Scenario, deviations []engine.Deviation,
	signature string, from *campaign.Campaign, failure *report.Failure,
	often recording.Reproduction,
) (c *recording.Counterexample, err error) {
	for range recording.ReproductionRuns {
		c, err = recording.NewCounterexample(r, scenario, deviations, signature, from.Seed,
			failure.Schedule)
		if err == nil {
			if often.Failures < often.Runs {
				c.Recording.Reproduces = often
			}
			return c, nil
		}
	}
	return nil, err
}
