package campaign_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// The report of a campaign does not depend on the number of workers.
func TestCampaignWorkers(t *testing.T) {
	for _, tc := range []struct {
		subject   scenarios.Subject
		schedules int
	}{
		{subjects.Mutex(), long.Count(300, 1000)}, // not a multiple of a worker's batch
		{subjects.NoRecheck(), 5000},
	} {
		t.Run(tc.subject.Name, func(t *testing.T) {
			var want string
			for _, workers := range long.Sample([]int{1, 5, 2}, 2) {
				c := &campaign.Campaign{
					Scenario: *locktest.Scenario(tc.subject, 3, 2, 2), Seed: 7,
					Schedules: tc.schedules, Workers: workers,
				}
				r := c.Run(context.Background(), t)
				failed := -1
				if r.Failure != nil {
					failed = r.Failure.Schedule
				}
				got := fmt.Sprint(r.Schedules, r.Steps, r.States, r.Digest, r.Coverage, r.Totals,
					r.Unknown, failed)
				if want == "" {
					want = got
				}
				if got != want {
					t.Errorf("%d workers: %s, want %s as with one worker", workers, got, want)
				}
				if tc.subject.Name == "mutex" && r.Schedules != tc.schedules {
					t.Errorf("%d schedules, want %d", r.Schedules, tc.schedules)
				}
			}
		})
	}
}

// A campaign with a limit of states ends after the same schedule for any number of workers.
func TestCampaignEndsByStates(t *testing.T) {
	const most = 20000
	var want string
	for _, workers := range []int{1, 3} {
		c := &campaign.Campaign{
			Scenario: *locktest.Scenario(subjects.Textbook(), 3, 2, 2), Seed: 7, States: most,
			Workers: workers,
		}
		r := c.Run(context.Background(), t)
		got := fmt.Sprint(r.Schedules, r.Steps, r.States, r.Digest)
		if want == "" {
			want = got
		}
		if got != want || r.States < most || r.States > most+most/2 || r.Interrupted {
			t.Errorf("%d workers: %s, with one %s; interrupted %v", workers, got, want,
				r.Interrupted)
		}
	}
}

func TestCampaignInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	c := &campaign.Campaign{
		Scenario: *locktest.Scenario(subjects.Mutex(), 2, 1, 0), Seed: 1,
		Workers: 2,
	}
	c.Progress = func(*report.Campaign) { cancel() }
	if r := c.Run(ctx, t); !r.Interrupted || r.Schedules == 0 || r.Failure != nil {
		t.Errorf("interrupted %v after %d schedules, failure %v", r.Interrupted, r.Schedules,
			r.Failure)
	}
}

// A campaign of a nondeterministic lock runs all schedules, and counts those that differ.
func TestCampaignNoticesNondeterminism(t *testing.T) {
	c := &campaign.Campaign{
		Scenario: *locktest.Scenario(locktest.Fickle(), 2, 1, 0), Seed: 1, Schedules: 200,
		Workers: 2,
	}
	c.Scenario.Subject.Claims = nil
	r := c.Run(context.Background(), t)
	if r.Nondeterministic == nil {
		t.Fatal("the campaign did not notice a nondeterministic lock")
	}
	if r.Schedules != c.Schedules || r.Differing < 2 || r.Differing != r.RunTwice {
		t.Errorf("%d schedules, %d of %d differed", r.Schedules, r.Differing, r.RunTwice)
	}
	if len(r.DifferingLines) != 1 ||
		!strings.HasPrefix(r.DifferingLines[0], "locktest/defects.go:") {
		t.Errorf("differed at %q", r.DifferingLines)
	}
	if text := r.Nondeterministic.Error(); !strings.Contains(text,
		`at locktest/defects.go:`) || !strings.Contains(text,
		`"send" of c1 at 0s, op "exists", path "/call-`) ||
		!strings.Contains(text, "likely causes") {
		t.Errorf("the difference is described as %q", text)
	}
}

// A campaign covers every kind of fault in every phase of a lock.
func TestFaultCoverage(t *testing.T) {
	for _, servers := range long.Sample([]int{1, 3}, 1) {
		c := &campaign.Campaign{
			Scenario: *locktest.Scenario(subjects.Mutex(), 3, 2, 2), Seed: 1,
			Schedules: long.Count(1500, 4400),
			Workers:   2,
		}
		c.Scenario.Servers = servers
		r := c.Run(context.Background(), t)
		if r.Failure != nil {
			t.Fatal(r.Failure.Violations[0])
		}
		for kind := range faults.AnyKinds {
			for phase := range faults.Phases {
				if r.Coverage[kind][phase] == 0 && !rarelyPossible(kind, phase) &&
					c.Scenario.Subject.EffectiveService().Supports(kind) &&
					(servers > 1) == (kind.Needs() == faults.SeveralServers) {
					t.Errorf("%d servers: no %v in phase %v", servers, kind, phase)
				}
			}
		}
	}
}

// rarelyPossible reports whether a fault can hardly strike in a phase. A process is idle only for
// an instant between two calls. While it waits or holds, only the replies to occasional requests of
// its client or lease can be lost. Only a waiting process can be canceled.
func rarelyPossible(kind faults.Kind, phase faults.Phase) bool {
	switch kind {
	case faults.LoseReply:
		return phase == faults.Idle || phase == faults.Waiting || phase == faults.Holding
	case faults.Cancel:
		return phase == faults.Idle || phase == faults.Holding || phase == faults.Releasing
	}
	return phase == faults.Idle
}

// A campaign that keeps going gathers the distinct failures in the order of their first schedules,
// for any number of workers.
func TestKeepGoing(t *testing.T) {
	schedules := long.Count(300, 700) // not a multiple of a worker's batch
	for _, subject := range []scenarios.Subject{subjects.NoRecheck(), subjects.Herd()} {
		t.Run(subject.Name, func(t *testing.T) {
			scenario := *locktest.Scenario(subject, 3, 2, 2)
			var want string
			for _, workers := range long.Sample([]int{1, 5, 2}, 2) {
				c := &campaign.Campaign{
					Scenario: scenario, Seed: 7, Schedules: schedules, Workers: workers,
					KeepGoing: true,
				}
				r := c.Run(context.Background(), t)
				got := fmt.Sprint(r.Schedules, r.Steps, r.States, r.Digest, r.Coverage, r.Totals,
					r.Unknown)
				for _, d := range r.Distinct {
					got += fmt.Sprintln(d.Signature, d.Schedules, d.First.Schedule,
						d.First.Deviations)
					for _, c := range d.Candidates {
						got += fmt.Sprintln(c.Cause, c.Failure.Schedule, c.Failure.Deviations)
					}
				}
				if want == "" {
					want = got
				}
				if got != want {
					t.Errorf("%d workers: %s, want %s as with one worker", workers, got, want)
				}
				checkDistinct(t, r, schedules)
				if fails := subject.Name == "no-recheck"; len(r.Distinct) > 1 != fails {
					t.Errorf("%d distinct failures", len(r.Distinct))
				}
			}
		})
	}
}

// checkDistinct verifies that each distinct failure is new, and in order.
func checkDistinct(t *testing.T, r *report.Campaign, schedules int) {
	t.Helper()
	if r.Schedules != schedules || !r.Finished() {
		t.Errorf("%d schedules, finished %v", r.Schedules, r.Finished())
	}
	seen, last := make(map[string]bool), 0
	for _, d := range r.Distinct {
		if seen[d.Signature] || d.First.Schedule < last || d.Schedules < 1 ||
			!slices.ContainsFunc(d.First.Violations, func(v *history.Violation) bool {
				return v.Signature() == d.Signature && v.Property == d.Property
			}) {
			t.Errorf("%+v after schedule %d", d, last)
		}
		seen[d.Signature], last = true, d.First.Schedule
	}
	if len(r.Distinct) > 0 && r.Failure != r.Distinct[0].First {
		t.Errorf("the first failure is %+v, not %+v", r.Failure, r.Distinct[0].First)
	}
}

// A campaign that keeps going counts each schedule that fails: as many as single schedules do.
func TestKeepGoingCounts(t *testing.T) {
	c := &campaign.Campaign{
		Scenario: *locktest.Scenario(subjects.ExistsThenWait(), 2, 1, 0), Seed: 3, Schedules: 60,
		Strategy: "random", KeepGoing: true,
	}
	r := c.Run(context.Background(), t)
	failed := 0
	runner := engine.NewRunner(t)
	make := strategy.Named("random")
	for schedule := range c.Schedules {
		result := runner.Run(&c.Scenario, make(nil, c.Seed, schedule))
		if result.Fails(&c.Scenario) {
			failed++
		}
	}
	if len(r.Distinct) != 1 || failed < 2 || r.Distinct[0].Schedules != failed {
		t.Errorf("distinct failures %+v, want one in %d schedules", r.Distinct, failed)
	}
}
