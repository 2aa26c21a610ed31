package shrink

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/show/recording"
)

// distinctCostMin is the cost that each distinct failure may take at least, however many there are.
const distinctCostMin = costMax / 6

// A Group is the distinct failures that one counterexample shows.
type Group struct {
	Failures       []*report.DistinctFailure // the one that was shrunk comes first
	Counterexample *recording.Counterexample // nil if there is an error
	Err            error                     // the schedule does not fail when it is run again
}

// Distinct shrinks the distinct failures of a search that kept going, in their order, and records
// them as [Shorten] does. A counterexample also stands for all later failures whose signatures it
// shows. The failures share the cost that a single one may take, within a minimum for each. When
// the context ends, the remaining failures are recorded as they were found.
//
// Before it shrinks a failure, Distinct calls begin with its index.
func Distinct(ctx context.Context, t *testing.T, c *campaign.Campaign, found report.Report,
	begin func(index int),
) iter.Seq[*Group] {
	return func(yield func(*Group) bool) {
		r := found.Common()
		shown := make([]bool, len(r.Distinct))
		budget := max(distinctCostMin, costMax/max(1, len(r.Distinct)))
		for i := range r.Distinct {
			if shown[i] {
				continue
			}
			begin(i)
			failure := &r.Distinct[i]
			group := &Group{Failures: []*report.DistinctFailure{failure}}
			// A counterexample is valid until the next run of its runner.
			group.Counterexample, group.Err = shorten(ctx, engine.NewRunner(t), c, failure.First,
				failure.Signature, budget)
			for j := i + 1; group.Err == nil && j < len(r.Distinct); j++ {
				if !shown[j] && shows(group.Counterexample, r.Distinct[j].Signature) {
					shown[j] = true
					group.Failures = append(group.Failures, &r.Distinct[j])
				}
			}
			if !yield(group) {
				return
			}
		}
	}
}

// shows reports whether a counterexample has a violation with the signature within the contract.
func shows(c *recording.Counterexample, signature string) bool {
	return slices.ContainsFunc(c.Result.Violations, func(v *history.Violation) bool {
		return v.Signature() == signature && !c.Result.OutOfContract(&c.Scenario, v)
	})
}
