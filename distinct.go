package interlock

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/shrink"
)

// failWithDistinct shrinks and writes every distinct failure, reports each as soon as it is
// written, and ends the test.
func failWithDistinct(ctx context.Context, t *testing.T, c *campaign.Campaign,
	r *report.Runs, verdict *verdict,
) {
	t.Helper()
	distinct, shown := 0, 0
	var signatures []*report.DistinctFailure // in the order of the counterexamples
	for group := range shrink.Distinct(ctx, t, c, r, func(int) {}) {
		t.Helper() // The body of the loop is a function of its own.
		distinct += len(group.Failures)
		for _, f := range group.Failures {
			if !slices.Contains(signatures, f.DistinctFailure) {
				signatures = append(signatures, f.DistinctFailure)
			}
		}
		if group.Err != nil {
			t.Errorf("%v, seed %d: %v", &c.Scenario, c.Seed, group.Err)
			continue
		}
		shown++
		t.Error(describeFailure(t, c, r, group.Schedule, group.Counterexample,
			verdict))
	}
	t.Fatal(describeDistinct(distinct, shown, signatures, r.Schedules))
}

// describeDistinct says how many distinct failures a search has found, how many counterexamples
// show them, and how often each signature occurred.
func describeDistinct(distinct, shown int, signatures []*report.DistinctFailure, schedules int,
) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s by signature and cause in %s, shown by %s",
		report.Counted(distinct, "distinct failure"), report.Counted(schedules, "schedule"),
		report.Counted(shown, "counterexample"))
	if shown < distinct {
		text.WriteString(": one shows all that its schedule violates")
	}
	for _, s := range signatures {
		fmt.Fprintf(&text, "\n%s: by any cause in %d of %d schedules, first in schedule %d",
			s.Signature, s.Schedules, schedules, s.First.Schedule)
	}
	return text.String()
}
