package page_test

import (
	"encoding/json"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/likelihood"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/show/page"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// brokenLock returns a run in which two processes are granted a lock: c2 is cut off and deletes its
// node, whose deletion wakes c3 while c1 holds the lock.
func brokenLock(t *testing.T) *page.Data {
	t.Helper()
	report, _ := brokenReport(t)
	return dataOf(report)
}

// likelyLock returns the same run with the likelihood of its violation, and what the engine says of
// both.
func likelyLock(t *testing.T) (*page.Data, *explain.Report, *engine.Result) {
	t.Helper()
	report, result := brokenReport(t)
	report.Likelihood = likelihood.Of(t.Context(), engine.NewRunner(t), brokenScenario(t),
		result.Deviations, result.Violations[0].Signature())
	if report.Likelihood == nil {
		t.Fatal("no likelihood")
	}
	return dataOf(report), report, result
}

func dataOf(report *explain.Report) *page.Data {
	return page.New(page.About{
		Lock: "no-recheck", Scenario: report.Title, TraceHash: "ebf0e605f96021e9",
		Replay: "interlock replay " +
			"interlock-failures/no-recheck-server-mutual-exclusion-ebf0e605f96021e9",
		Deviations: []string{"step 10: cut c2"},
	}, report)
}

// brokenScenario returns the scenario of that run.
func brokenScenario(t *testing.T) *scenarios.Scenario {
	t.Helper()
	plan := faults.Plan{}
	if err := plan.UnmarshalText([]byte("cut=1")); err != nil {
		t.Fatal(err)
	}
	return &scenarios.Scenario{
		Subject: subjects.NoRecheck(), Clients: 3, Cycles: 1, Faults: plan,
	}
}

// brokenReport returns the report of that run, and the run.
func brokenReport(t *testing.T) (*explain.Report, *engine.Result) {
	t.Helper()
	var deviations []engine.Deviation
	if err := json.Unmarshal([]byte(`[{"index": 10, "step": "cut c2"}]`), &deviations); err != nil {
		t.Fatal(err)
	}
	scenario := brokenScenario(t)
	runner := engine.NewRunner(t)
	runner.GatherFacts(true)
	result := runner.Run(scenario, &engine.Replay{Deviations: deviations})
	if len(result.Violations) == 0 {
		t.Fatal("the run violates nothing")
	}
	result.Lead(scenario, "")
	return result.Explain(scenario), result
}

// randomRun returns a run of a lock by a random schedule with faults.
func randomRun(t *testing.T, subject scenarios.Subject, clients, cycles, servers, schedule int,
) (*engine.Result, *explain.Report) {
	t.Helper()
	scenario := &scenarios.Scenario{
		Subject: subject, Clients: clients, Cycles: cycles, Servers: servers,
		Faults: faults.Default(),
	}
	runner := engine.NewRunner(t)
	runner.GatherFacts(true)
	result := runner.Run(scenario, strategy.NewRandom(1, schedule))
	return result, result.Explain(scenario)
}
