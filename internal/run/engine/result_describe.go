package engine

import (
	"fmt"
	"strings"

	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/history/timeline"
	"github.com/interlock-sim/interlock/scenarios"
)

// Describe returns the violations of the run and why they came about, with the decisive part of its
// timeline.
func (r *Result) Describe(scenario *scenarios.Scenario) string {
	return Describe(r.Explain(scenario))
}

// Describe returns a report in short, as [Result.Describe] does.
func Describe(report *explain.Report) string {
	var text strings.Builder
	report.Timeline.Width = describedWidth
	for n, why := range report.Whys {
		fmt.Fprintf(&text, "%s: %s\n%s", why.Violation.Signature(), why.Violation.Detail,
			timeline.Wrap(why.Text, describedWidth, "  "))
		if n == 0 {
			report.WriteLikelihood(&text) // A strings.Builder does not fail.
		}
		text.WriteByte('\n')
	}
	report.Decisive(&text) // A strings.Builder does not fail.
	return text.String()
}

// describedWidth is the width of a description, in columns: go test indents it.
const describedWidth = 100

// Explain returns the run as a report. Results of a runner that gathers facts are explained in more
// detail; see [Runner.GatherFacts].
func (r *Result) Explain(scenario *scenarios.Scenario) *explain.Report {
	report := explain.NewReport(scenario.String(), r.Events, r.Violations)
	report.Starts = r.Starts
	return report
}
