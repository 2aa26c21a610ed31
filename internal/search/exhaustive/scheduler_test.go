//go:build interlock_scheduler

package exhaustive_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/shrink"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// Where goroutines are scheduled, an exhaustive search of a lock with concurrency of its own is
// complete, finds its defect, and finds nothing in its twin, also with partial-order reduction. A
// campaign finds the same, and the shrunk counterexample fails in every run.
func TestScheduledLocks(t *testing.T) {
	for _, lock := range locktest.Concurrent() {
		t.Run(lock.Name, func(t *testing.T) {
			fixed := strings.HasSuffix(lock.Name, "-fixed")
			scenario := *locktest.Scenario(lock, 2, 1, 0)
			for _, plain := range []bool{false, true} {
				e := &exhaustive.Search{
					Scenario: scenario, KeepGoing: true, NoReduction: plain,
				}
				r := e.Run(context.Background(), t)
				t.Logf("%d schedules, %d states", r.Schedules, r.States)
				if !r.Complete || r.Differing > 0 || fixed != (r.Failure == nil) {
					t.Errorf("complete %v, failure %+v, %s", r.Complete, r.Failure,
						r.DescribeDiffering())
				}
			}
			c := &campaign.Campaign{Scenario: scenario, Seed: 1, Schedules: 500, Workers: 2}
			found := c.Run(context.Background(), t)
			if found.Differing > 0 || fixed != (found.Failure == nil) {
				t.Fatalf("failure %+v, %s", found.Failure, found.DescribeDiffering())
			}
			if fixed {
				return
			}
			short, err := shrink.Shorten(context.Background(), engine.NewRunner(t), c, found)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%v", short.Recording.Deviations)
			if short.Recording.Reproduces.Runs > 0 || len(short.Recording.Deviations) == 0 {
				t.Errorf("shrunk to %+v", short.Recording)
			}
		})
	}
}

// Where goroutines are scheduled, an exhaustive search of two threads on one handle is complete,
// finds each defect, and finds nothing without one.
func TestScheduledThreads(t *testing.T) {
	for _, tc := range []struct {
		defect  locktest.ThreadDefect
		clients int
		want    history.Property // "" if nothing is found
	}{
		{locktest.NoThreadDefect, 2, ""},
		{locktest.SharedCounter, 1, history.ClientMutualExclusion},
		{locktest.SharedNode, 1, history.NoLeakedNodes},
	} {
		defect, want := tc.defect, tc.want
		e := &exhaustive.Search{
			Scenario: scenarios.Scenario{
				Subject: locktest.Handle(defect),
				Clients: tc.clients, Cycles: 1, Threads: 2,
			},
			KeepGoing: true,
		}
		r := e.Run(context.Background(), t)
		t.Logf("defect %d: %d schedules, %d states", defect, r.Schedules, r.States)
		if !r.Complete || r.Differing > 0 {
			t.Errorf("defect %d: not complete, %s", defect, r.DescribeDiffering())
		}
		switch {
		case want == "" && r.Failure != nil:
			t.Errorf("found %+v", r.Failure.Violations[0])
		case want == "":
		case r.Failure == nil || !slices.ContainsFunc(r.Failure.Violations,
			func(v *history.Violation) bool { return v.Property == want }):
			t.Errorf("defect %d: %s is not found first: %+v", defect, want, r.Failure)
		}
	}
}

// Where goroutines are scheduled, a schedule runs alike twice, also with the real client, which
// keeps its watches in a map: it names them to the server, or ends them, in one order.
func TestScheduledWatches(t *testing.T) {
	s := locktest.Planned(t, watching(), 2, 2, "any=2")
	s.Client = scenarios.Real
	runner := engine.NewRunner(t)
	for i := range 60 {
		draw := func() engine.Strategy { return strategy.NewRandom(1, i) }
		runner.Goroutines = strategy.Goroutines(1, i)
		first := runner.Run(&s, draw())
		events, hash := slices.Clone(first.Events), first.TraceHash
		runner.Goroutines = strategy.Goroutines(1, i)
		if second := runner.Run(&s, draw()); second.TraceHash != hash {
			t.Fatalf("schedule %d: %v", i, engine.FirstDifference(events, second.Events))
		}
	}
}

// watching returns the textbook lock with a dozen watches, at whose events a goroutine each asks.
func watching() scenarios.Subject {
	s := locktest.Subject("watching", func(p *scenarios.Process) scenarios.LockerFunc {
		locker, err := subjects.Textbook().Open(p)
		if err != nil {
			panic(err)
		}
		return func(ctx context.Context) (*scenarios.Hold, error) {
			for i := range 12 {
				path := fmt.Sprintf("%s/none-%d", p.Directory, i)
				if _, _, events, err := p.Client.ExistsW(path); err == nil {
					go func() {
						select {
						case <-events:
							p.Client.Exists(path)
						case <-p.Context().Done():
						}
					}()
				}
			}
			return locker.Lock(ctx)
		}
	})
	s.Claims = nil
	return s
}
