package interlock

import (
	"testing"

	"github.com/interlock-sim/interlock/internal/search/report"
)

// A counterexample may show several failures, and a signature may have several causes.
func TestDescribeDistinct(t *testing.T) {
	fifo := &report.DistinctFailure{
		Signature: "fifo: as it was", Schedules: 7, First: &report.Failure{Schedule: 3},
	}
	for want, got := range map[string]string{
		"1 distinct failure by signature and cause in 9 schedules, shown by 1 counterexample\n" +
			"fifo: as it was: by any cause in 7 of 9 schedules, first in schedule 3": describeDistinct(
			1, 1, []*report.DistinctFailure{fifo}, 9),
		"3 distinct failures by signature and cause in 9 schedules, shown by 2 counterexamples: one " +
			"shows all that its schedule violates": describeDistinct(3, 2, nil, 9),
	} {
		if got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
