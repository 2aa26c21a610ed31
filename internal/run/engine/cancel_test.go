package engine_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/shrink"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/everylock"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// campaignOutcome formats all counts of a campaign.
func campaignOutcome(r *report.Campaign) string {
	return fmt.Sprint(r.Schedules, r.Steps, r.States, r.Depth, r.Histories, r.Digest, r.Coverage,
		r.Targeted, r.Totals, r.Unknown, r.Strategies, r.Failure, r.Nondeterministic)
}

// A campaign that is canceled within a schedule reports the same as a campaign without that
// schedule.
func TestCampaignCanceledWithinSchedule(t *testing.T) {
	const clients, cycles = 3, 20
	// Calls per run. The first run is the profile, and the first schedule is run twice.
	const calls = 2 * clients * cycles
	for _, client := range []scenarios.ClientKind{scenarios.Model, scenarios.Real} {
		if client == scenarios.Real && real.RaceDetector {
			continue
		}
		for _, tc := range []struct {
			name      string
			call      int64
			schedules int
		}{
			{"at the beginning of the profile", 1, 0},
			{"in the profile", calls / 2, 0},
			{"at the end of the profile", calls, 0},
			{"in the first schedule", calls + calls/2, 0},
			{"when the first schedule is repeated", 2*calls + calls/2, 1},
			{"in the second", 3*calls + calls/2, 1},
			{"in the third", 4*calls + calls/2, 2},
		} {
			t.Run(fmt.Sprint(client, " ", tc.name), func(t *testing.T) {
				before := everylock.BubbleGoroutines()
				ctx, subject, calls := everylock.CancelInCall(subjects.Textbook(), tc.call)
				c := &campaign.Campaign{
					Scenario: *locktest.Scenario(subject, clients, cycles, 0),
					Seed:     4,
				}
				c.Scenario.Client = client
				r := c.Run(ctx, t)
				if made := calls.Load(); made >= tc.call+clients {
					t.Errorf("%d calls were made", made)
				}
				want := &report.Campaign{}
				if tc.schedules > 0 {
					c.Schedules = tc.schedules
					want = c.Run(context.Background(), t)
				}
				if got, want := campaignOutcome(r), campaignOutcome(want); got != want {
					t.Errorf("the campaign reports\n%s, want\n%s", got, want)
				}
				if !r.Interrupted || r.Schedules != tc.schedules {
					t.Errorf("interrupted %v after %d schedules, want %d", r.Interrupted,
						r.Schedules, tc.schedules)
				}
				if left := everylock.BubbleGoroutines() - before; left != 0 {
					t.Errorf("%d goroutines remain", left)
				}
			})
		}
	}
}

// The goroutines of a lock end when its run is canceled at any point.
func TestCanceledRunsEnd(t *testing.T) { everylock.CanceledRunsEnd(t, subjects.All()) }

// A failure is reported although an earlier schedule was canceled.
func TestFailureAfterCanceledSchedule(t *testing.T) {
	const ahead = 64 // the first schedule of the second worker
	first := 0       // the process that gets the lock first
	s := locktest.Scenario(observeFirstGrant(func(process int) { first = process }), 2, 1, 0)
	c := &campaign.Campaign{Scenario: *s, Workers: 2, Strategy: strategy.RandomName}
	winner := func(schedule int) int {
		engine.NewRunner(t).Run(&c.Scenario, strategy.NewRandom(c.Seed, schedule))
		return first
	}
	for winner(0) != 1 || winner(ahead) != 2 {
		c.Seed++
	}
	ctx, cancel := context.WithCancel(context.Background())
	var runs, broken atomic.Int64
	repeated := make(chan struct{})
	c.Scenario.Subject = observeFirstGrant(func(process int) {
		switch {
		case runs.Add(1) == 1: // the profile
		case process == 2:
			if broken.Add(1) == 2 {
				close(repeated)
			}
			panic("on purpose")
		default:
			<-repeated
			cancel()
		}
	})
	r := c.Run(ctx, t)
	if r.Failure == nil || r.Failure.Schedule != ahead || r.Schedules != 1 || !r.Interrupted {
		t.Errorf("failure %+v in %d schedules, interrupted %v", r.Failure, r.Schedules,
			r.Interrupted)
	}
}

// A schedule without a verdict does not count.
func TestCampaignCanceledBeforeVerdict(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var unlocks atomic.Int64
	lock := locktest.WithLock("lock", func(hold *scenarios.Hold) {
		unlock := hold.Unlock
		hold.Unlock = func(ctx context.Context) error {
			defer func() {
				if unlocks.Add(1) == 2 { // The first belongs to the profile.
					cancel()
				}
			}()
			return unlock(ctx)
		}
	})
	if r := (&campaign.Campaign{Scenario: *locktest.Scenario(lock, 1, 1, 0)}).Run(ctx,
		t); r.Schedules != 0 ||
		!r.Interrupted {
		t.Errorf("interrupted %v after %d schedules", r.Interrupted, r.Schedules)
	}
}

// A panic counts, even if the schedule is canceled before its verdicts.
func TestPanicBeforeVerdict(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var unlocks atomic.Int64
	lock := locktest.WithLock("panics", func(hold *scenarios.Hold) {
		hold.Unlock = func(context.Context) error {
			if unlocks.Add(1) > 1 { // The first belongs to the profile.
				cancel()
			}
			panic("on purpose")
		}
	})
	if r := (&campaign.Campaign{Scenario: *locktest.Scenario(lock, 1, 1, 0)}).Run(ctx,
		t); r.Failure == nil ||
		r.Schedules != 1 {
		t.Errorf("failure %v after %d schedules", r.Failure, r.Schedules)
	}
}

// A failure that is found at the moment of cancellation is reported and confirmed.
func TestFailureAtCancellation(t *testing.T) {
	for _, always := range []bool{true, false} {
		ctx, cancel := context.WithCancel(context.Background())
		var unlocks atomic.Int64
		s := locktest.WithLock("panics", func(hold *scenarios.Hold) {
			hold.Unlock = func(context.Context) error {
				if unlocks.Add(1); always || unlocks.Load() == 2 {
					panic("on purpose")
				}
				return nil
			}
		})
		// Sometimes conditions are evaluated after the verdicts of the schedule.
		s.Sometimes = []history.Sometimes{{Name: "none", Reached: func([]history.Event) bool {
			if unlocks.Load() == 2 {
				cancel()
			}
			return false
		}}}
		s.Claims = []history.Property{history.ServerMutualExclusion}
		r := (&campaign.Campaign{Scenario: *locktest.Scenario(s, 1, 1, 0)}).Run(ctx, t)
		if r.Failure == nil || always == (r.Nondeterministic != nil) || r.Schedules != 1 ||
			r.Failure.Unstable == always {
			t.Errorf("always %v: failure %+v, nondeterminism %v in %d schedules", always, r.Failure,
				r.Nondeterministic, r.Schedules)
		}
	}
	e := exhaustive.Search{Scenario: *locktest.Scenario(locktest.NoLock(), 2, 1, 0)}
	_, subject, calls := everylock.CancelInCall(locktest.NoLock(), 0)
	e.Scenario.Subject = subject
	if r := e.Run(context.Background(), t); r.Failure == nil {
		t.Fatal("the search found nothing")
	}
	var ctx context.Context
	// The last call is in the confirming run.
	ctx, subject, _ = everylock.CancelInCall(locktest.NoLock(), calls.Load())
	e.Scenario.Subject = subject
	if r := e.Run(ctx, t); r.Failure == nil {
		t.Errorf("interrupted %v, and the failure was lost", r.Interrupted)
	}
}

// Shrinking, too, ends within a run and returns its best result so far.
func TestShrinkCanceledWithinRun(t *testing.T) {
	const clients, cycles, call = 3, 20, 60
	ctx, subject, calls := everylock.CancelInCall(locktest.NoLock(), call)
	s := locktest.Scenario(subject, clients, cycles, 0)
	signature := engine.NewRunner(t).Run(locktest.Scenario(locktest.NoLock(), clients, cycles, 0),
		&engine.Replay{}).Violations[0].Signature()
	shrunk, deviations := shrink.Shrink(ctx, engine.NewRunner(t), *s, nil, signature)
	if calls.Load() >= call+clients || shrunk.Clients != clients || shrunk.Cycles != cycles ||
		len(deviations) != 0 {
		t.Errorf("%d calls, shrunk to %v with %d deviations", calls.Load(), &shrunk,
			len(deviations))
	}
}

// observeFirstGrant is the textbook lock. In each run it calls the function with the process that
// gets the lock first.
func observeFirstGrant(granted func(process int)) scenarios.Subject {
	s := subjects.Textbook()
	open := s.Open
	s.Open = func(p *scenarios.Process) (scenarios.Locker, error) {
		locker, err := open(p)
		return scenarios.LockerFunc(func(ctx context.Context) (*scenarios.Hold, error) {
			hold, err := locker.Lock(ctx)
			if err == nil && strings.HasSuffix(hold.Node, "-0000000000") {
				granted(p.Number)
			}
			return hold, err
		}), err
	}
	return s
}

// A search that is repeatedly canceled within a schedule and resumed reports the same as an
// uninterrupted search.
func TestCheckpointWithinSchedule(t *testing.T) {
	for _, live := range []bool{false, true} {
		t.Run(fmt.Sprint("live ", live), func(t *testing.T) {
			e := exhaustive.Search{
				Scenario:      locktest.Planned(t, subjects.Textbook(), 2, 1, "cancel=1"),
				NoReplayCache: live,
			}
			uninterrupted := e.Run(context.Background(), t)
			runs, interrupted := 0, 0
			e.Each = func(*engine.Result) { runs++ }
			e.Checkpoint = filepath.Join(t.TempDir(), "checkpoint")
			var r *report.Exhaustive
			for part := int64(0); r == nil || !r.Complete; part++ {
				call := 1 + part%2*part*3 // Every second part completes no schedule.
				e := e
				if err := e.Resume(t); err != nil {
					t.Fatal(err)
				}
				ctx, subject, calls := everylock.CancelInCall(subjects.Textbook(), call)
				e.Scenario.Subject = subject
				if r = e.Run(ctx, t); r.Unsaved != nil || r.Failure != nil ||
					r.Nondeterministic != nil {
					t.Fatal(r.Unsaved, r.Failure, r.Nondeterministic)
				}
				if !r.Interrupted {
					continue
				}
				interrupted++
				if r.Schedules > 0 && r.Untried == 0 {
					t.Errorf("no untried steps remain after %d schedules", r.Schedules)
				}
				if live && calls.Load() >= call+int64(e.Scenario.Clients) {
					t.Errorf("%d calls were made, want %d", calls.Load(), call)
				}
			}
			if interrupted < 3 || runs != uninterrupted.Schedules {
				t.Errorf("interrupted %d times; %d runs, want %d", interrupted, runs,
					uninterrupted.Schedules)
			}
			if r.Digest != uninterrupted.Digest || r.Schedules != uninterrupted.Schedules ||
				r.Steps != uninterrupted.Steps ||
				r.States != uninterrupted.States ||
				r.Transitions != uninterrupted.Transitions || r.Depth != uninterrupted.Depth ||
				r.Coverage != uninterrupted.Coverage ||
				r.Scope.String() != uninterrupted.Scope.String() {
				t.Errorf("interrupted\n%+v, uninterrupted\n%+v", r, uninterrupted)
			}
		})
	}
}
