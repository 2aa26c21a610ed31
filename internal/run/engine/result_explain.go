package engine

import (
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/history/timeline"
	"github.com/interlock-sim/interlock/scenarios"
)

// Explain returns the run as a report. Results of a runner that gathers facts are explained in more
// detail; see [Runner.GatherFacts].
func (r *Result) Explain(scenario *scenarios.Scenario) *explain.Report {
	lock := &scenario.Subject
	primitive := timeline.PrimitiveOf(lock.Claims, lock.Shared != nil)
	report := explain.NewReport(scenario.String(), primitive, r.Events, r.Violations)
	report.Starts = r.Starts
	return report
}

// Describe describes the report of [Result.Explain].
func (r *Result) Describe(scenario *scenarios.Scenario) string {
	return r.Explain(scenario).Describe()
}
