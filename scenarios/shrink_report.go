package scenarios

import "context"

// Shorten shrinks the schedule of a report that failed, or else the first that broke what the lock
// does not promise there, and records it; see [Runner.Shrink]. The counterexample is headed by the
// panic of the schedule, or else by the first violation that the report has of it. If a shorter
// form of an excused schedule breaks a promise, the lock has failed, and the report says so from
// then on. Shorten returns nil if the report has neither.
//
// It returns an error if the schedule does not fail when it is run again: then the lock does not do
// the same twice. If only the short form does not, the schedule is recorded as it was found.
func (r *Runner) Shorten(ctx context.Context, campaign *Campaign,
	report *Report,
) (*Counterexample, error) {
	failure := report.Failure
	if failure == nil {
		failure = report.OutOfContract
	}
	if failure == nil {
		return nil, nil
	}
	found := failure.Violations[0].Signature()
	s := r.shrink(ctx, campaign.Scenario, failure.Deviations, found)
	c, err := r.NewCounterexample(s.outcome(), s.deviations, s.signature, campaign.Seed,
		failure.Schedule)
	if err != nil {
		c, err = r.NewCounterexample(campaign.Scenario, failure.Deviations, found, campaign.Seed,
			failure.Schedule)
	}
	if err != nil {
		return nil, err
	}
	if report.Failure == nil && !c.Scenario.OutOfContract(c.Result, c.Result.Violations[0]) {
		report.Failure = failure
	}
	return c, nil
}
