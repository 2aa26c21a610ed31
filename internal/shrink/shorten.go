package shrink

import (
	"context"

	"github.com/interlock-sim/interlock/internal/campaign"
	"github.com/interlock-sim/interlock/internal/engine"
	"github.com/interlock-sim/interlock/internal/recording"
	"github.com/interlock-sim/interlock/internal/report"
)

// Shorten shrinks the failed schedule of a report, or else the first one out of contract, and
// records it; see [Shrink]. The first violation of the counterexample is the schedule's
// panic, or else the first violation in the report. If a shorter form of a schedule out of contract
// violates a promise, the lock has failed, and Shorten changes the report accordingly. Shorten
// returns nil if the report has no such schedule.
//
// It returns an error if the schedule does not fail when it is run again: then the lock is
// nondeterministic. If only the short form does not fail, the schedule is recorded as it was found.
func Shorten(ctx context.Context, r *engine.Runner, campaign *campaign.Campaign,
	found report.Report,
) (*recording.Counterexample, error) {
	report := found.Common()
	failure := report.Failure
	if failure == nil {
		failure = report.OutOfContract
	}
	if failure == nil {
		return nil, nil
	}
	c, err := shorten(ctx, r, campaign, failure, failure.Violations[0].Signature(), costMax)
	if err != nil {
		return nil, err
	}
	if report.Failure == nil && !c.Scenario.OutOfContract(c.Result, c.Result.Violations[0]) {
		report.Failure = failure
	}
	return c, nil
}

// shorten shrinks a failure with a signature within a bound on the cost of its runs, and records
// it.
func shorten(ctx context.Context, r *engine.Runner, campaign *campaign.Campaign,
	failure *report.Failure, signature string, budget int,
) (*recording.Counterexample, error) {
	s := shrink(ctx, r, campaign.Scenario, failure.Deviations, signature, budget)
	c, err := recording.NewCounterexample(r, s.outcome(), s.deviations, s.signature, campaign.Seed,
		failure.Schedule)
	if err != nil {
		c, err = recording.NewCounterexample(r, campaign.Scenario, failure.Deviations, signature,
			campaign.Seed, failure.Schedule)
	}
	return c, err
}
