package engine

import (
	"fmt"
	"strings"

	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/history/timeline"
)

// Describe returns the violations of the run and why they came about, with the decisive part of its
// timeline.
func (r *Result) Describe(scenario *Scenario) string {
	var text strings.Builder
	report := r.Explain(scenario)
	for _, why := range report.Whys {
		fmt.Fprintf(&text, "%s: %s\n%s\n", why.Violation.Signature(), why.Violation.Detail,
			timeline.Wrap(why.Text, describedWidth, "  "))
	}
	report.Timeline.Width = describedWidth
	report.Decisive(&text) // A strings.Builder does not fail.
	return text.String()
}

// describedWidth is the width of a description, in columns: go test indents it.
const describedWidth = 100

// Explain returns the run as a report. Results of a runner that gathers facts are explained in more
// detail; see [Runner.GatherFacts].
func (r *Result) Explain(scenario *Scenario) *explain.Report {
	return explain.NewReport(scenario.String(), r.Events, r.Violations)
}
