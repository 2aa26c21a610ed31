package scenarios

import "context"

// Shorten shrinks the schedule of a report that failed, or else the first that broke what the lock does not promise there, and
// records it; see [Runner.Shrink]. If it turns out that the latter breaks the same without what excuses it the lock has failed, and
// the report says so from then on. It returns nil if the report has neither.
func (r *Runner) Shorten(ctx context.Context, campaign *Campaign, report *Report) *Counterexample {
	failure := report.Failure
	if failure == nil {
		failure = report.Beyond
	}
	if failure == nil {
		return nil
	}
	signature := failure.Violations[0].Signature()
	scenario, deviations := r.Shrink(ctx, campaign.Scenario, failure.Deviations, signature)
	c := r.NewCounterexample(scenario, deviations, signature, campaign.Seed, failure.Schedule)
	if report.Failure == nil && scenario.Fails(c.Result) {
		report.Failure = failure
	}
	return c
}
