package shrink_test

import (
	"context"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/shrink"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// findOutOfContract runs campaigns with pauses of up to ten seconds until one has an
// out-of-contract schedule and no failure.
func findOutOfContract(t *testing.T, subject scenarios.Subject, plan string,
	schedules int,
) (*campaign.Campaign, *report.Campaign) {
	t.Helper()
	c := &campaign.Campaign{
		Scenario: locktest.Planned(t, subject, 2, 1, plan), Schedules: schedules,
		Workers: 2,
	}
	c.Scenario.Severity = faults.Severity{Pause: 10 * time.Second}
	for c.Seed = 2; c.Seed < 20; c.Seed++ {
		if r := c.Run(context.Background(), t); r.Failure == nil && r.OutOfContract != nil {
			return c, r
		}
	}
	t.Fatalf("no campaign of %s had only out-of-contract violations", subject.Name)
	return nil, nil
}

// shorten returns the counterexample of a report.
func shorten(t *testing.T, c *campaign.Campaign, r report.Report) *recording.Counterexample {
	t.Helper()
	short, err := shrink.Shorten(context.Background(), engine.NewRunner(t), c, r)
	if err != nil {
		t.Fatal(err)
	}
	return short
}

// An out-of-contract schedule is shrunk like a failure. The lock has failed if the shrunk schedule
// is within the contract.
func TestShortenOutOfContract(t *testing.T) {
	c := &campaign.Campaign{
		Scenario: locktest.Planned(t, locktest.Named(t, "late-notice"), 3, 2, "expire=1,pause=1"),
		Seed:     1, Schedules: 1500, Workers: 2,
	}
	r := c.Run(context.Background(), t)
	if r.Failure == nil {
		t.Fatal("late-notice did not fail")
	}
	// The failure is within the contract, so Shorten must find that out if it is reported as out of
	// contract.
	r.Failure, r.OutOfContract = nil, r.Failure
	short := shorten(t, c, r)
	if r.Failure != r.OutOfContract || short.Scenario.Faults.Names(faults.Pause) ||
		len(short.Recording.Deviations) > 5 {
		t.Errorf("failed: %t; %v with %v", r.Failure != nil, &short.Scenario,
			short.Recording.Deviations)
	}
	c, r = findOutOfContract(t, subjects.Mutex(), "pause=2", 1000)
	short = shorten(t, c, r)
	if r.Failure != nil || !short.Scenario.Faults.Names(faults.Pause) ||
		len(short.Result.Violations) == 0 || len(short.Recording.Deviations) > 5 {
		t.Errorf("failed: %t; %v with %v", r.Failure != nil, &short.Scenario,
			short.Recording.Deviations)
	}
	if shorten(t, c, new(report.Campaign)) != nil {
		t.Error("Shorten returned a counterexample of an empty report")
	}
}
