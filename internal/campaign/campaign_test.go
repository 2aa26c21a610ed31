package campaign_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/campaign"
	"github.com/interlock-sim/interlock/internal/locktest"
	"github.com/interlock-sim/interlock/internal/report"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// The report of a campaign does not depend on the number of workers.
func TestCampaignWorkers(t *testing.T) {
	for _, tc := range []struct {
		subject   scenarios.Subject
		schedules int
	}{
		{subjects.Mutex(), 1000}, // not a multiple of a worker's batch
		{subjects.NoRecheck(), 5000},
	} {
		t.Run(tc.subject.Name, func(t *testing.T) {
			var want string
			for _, workers := range []int{1, 2, 5} {
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
					failed)
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
	c.Progress = func(*report.Report) { cancel() }
	if r := c.Run(ctx, t); !r.Interrupted || r.Schedules == 0 || r.Failure != nil {
		t.Errorf("interrupted %v after %d schedules, failure %v", r.Interrupted, r.Schedules,
			r.Failure)
	}
}

func TestCampaignNoticesNondeterminism(t *testing.T) {
	c := &campaign.Campaign{
		Scenario: *locktest.Scenario(locktest.Fickle(), 2, 1, 0), Seed: 1, Schedules: 10,
		Workers: 2,
	}
	c.Scenario.Subject.Claims = nil
	r := c.Run(context.Background(), t)
	if r.Nondeterministic == nil {
		t.Fatal("the campaign did not notice a nondeterministic lock")
	}
	if text := r.Nondeterministic.Error(); !strings.Contains(text,
		`"send" of c1 at 0s, op "exists", path "/call-`) ||
		!strings.Contains(text, "likely causes") {
		t.Errorf("the difference is described as %q", text)
	}
}

// A campaign covers every kind of fault in every phase of a lock.
func TestFaultCoverage(t *testing.T) {
	for _, servers := range []int{1, 3} {
		c := &campaign.Campaign{
			Scenario: *locktest.Scenario(subjects.Mutex(), 3, 2, 2), Seed: 1, Schedules: 4400,
			Workers: 2,
		}
		c.Scenario.Servers = servers
		r := c.Run(context.Background(), t)
		if r.Failure != nil {
			t.Fatal(r.Failure.Violations[0])
		}
		for kind := range faults.AnyKinds {
			for phase := range faults.Phases {
				if r.Coverage[kind][phase] == 0 && !rarelyPossible(kind, phase) &&
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
