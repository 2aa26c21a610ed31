package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// polls sends requests forever, with a pause after each.
func polls(pause time.Duration) scenarios.Subject {
	return locktest.LeavesBehind("polls", func(p *scenarios.Process) {
		for {
			time.Sleep(pause)
			p.Client.Exists(p.Directory)
		}
	})
}

// deletes sends deletes forever without a pause, even after the client is closed.
func deletes() scenarios.Subject {
	return locktest.LeavesBehind("deletes", func(p *scenarios.Process) {
		for {
			p.Client.Delete(p.Directory+"/gone", -1)
		}
	})
}

// deletesTwice has a background goroutine that terminates.
func deletesTwice() scenarios.Subject {
	return locktest.LeavesBehind("deletes-twice", func(p *scenarios.Process) {
		for range 2 {
			p.Client.Delete(p.Directory+"/gone", -1)
			time.Sleep(time.Second)
		}
	})
}

// renews sends requests until its context ends.
func renews() scenarios.Subject {
	return locktest.LeavesBehind("renews", func(p *scenarios.Process) {
		for p.Context().Err() == nil {
			p.Client.Exists(p.Directory)
			time.Sleep(time.Second)
		}
	})
}

// asksAside sends a request on another goroutine and waits for it.
func asksAside() scenarios.Subject {
	return locktest.Subject("asks-aside", func(p *scenarios.Process) scenarios.LockerFunc {
		locker, err := subjects.Textbook().Open(p)
		if err != nil {
			panic(err)
		}
		return func(ctx context.Context) (*scenarios.Hold, error) {
			asked := make(chan error)
			go func() {
				_, _, err := p.Client.Exists(p.Directory)
				asked <- err
			}()
			if err := <-asked; err != nil {
				return nil, err
			}
			return locker.Lock(ctx)
		}
	})
}

func leaked(result *engine.Result) bool {
	for _, v := range result.Violations {
		if v.Property == history.NoGoroutineLeak {
			return true
		}
	}
	return false
}

// A goroutine that runs forever after its process's last unlock is a leak, with or without pauses,
// with either client and in every kind of search. A goroutine that ends by itself or at the end of
// the run is none.
func TestEndlessRequestsAreLeaks(t *testing.T) {
	for _, tc := range []struct {
		subject  scenarios.Subject
		leaks    bool
		complete bool
	}{
		{polls(time.Second), true, false},
		{polls(40 * time.Second), true, false},
		{deletes(), true, false},
		{locktest.DeletesUntilClosed(), false, false},
		{deletesTwice(), false, true},
		{renews(), false, true},
	} {
		t.Run(tc.subject.Name, func(t *testing.T) {
			runner := engine.NewRunner(t)
			for _, client := range []scenarios.ClientKind{scenarios.Model, scenarios.Real} {
				s := locktest.Scenario(tc.subject, 2, 1, 1)
				s.Client = client
				for schedule := range 5 {
					if result := runner.Run(s,
						strategy.NewRandom(1,
							schedule)); result.Coverage.Total(faults.Crash) == 0 &&
						leaked(result) != tc.leaks {
						t.Fatalf("client %v: leak %q", client, result.Leak)
					}
				}
			}
			for _, live := range []bool{false, true} {
				e := &exhaustive.Search{
					Scenario:      locktest.Planned(t, tc.subject, 1, 1, "none"),
					NoReplayCache: live,
				}
				r := e.Run(context.Background(), t)
				if (r.Failure != nil) != tc.leaks || r.Complete != tc.complete {
					t.Errorf("live %v: failure %v, complete %v", live, r.Failure, r.Complete)
				}
			}
		})
	}
}

// Unsettled runs are counted, and a search with an unsettled run is not complete.
func TestUnsettledRunsAreCounted(t *testing.T) {
	for _, tc := range []struct {
		subject   scenarios.Subject
		unsettled bool
	}{{locktest.DeletesUntilClosed(), true}, {deletesTwice(), false}, {renews(), false}} {
		e := &exhaustive.Search{Scenario: locktest.Planned(t, tc.subject, 1, 1, "none")}
		if r := e.Run(context.Background(), t); r.Unsettled > 0 != tc.unsettled ||
			r.Complete == tc.unsettled || r.Failure != nil {
			t.Errorf("%s, exhaustive: %d schedules unsettled, complete %v, failure %v",
				tc.subject.Name, r.Unsettled, r.Complete, r.Failure)
		}
		c := &campaign.Campaign{
			Scenario: locktest.Planned(t, tc.subject, 2, 1, "none"), Schedules: 20,
			Workers: 1,
		}
		want := 0
		if tc.unsettled {
			want = 20
		}
		if r := c.Run(context.Background(), t); r.Unsettled != want || r.Failure != nil {
			t.Errorf("%s, campaign: %d schedules unsettled of %d, failure %v", tc.subject.Name,
				r.Unsettled, r.Schedules, r.Failure)
		}
	}
}

// The goroutines of a crashed process are no leak: they end at their next request, and other
// goroutines may wait for them.
func TestCrashedProcessesDoNotLeak(t *testing.T) {
	for _, plan := range []string{"crash=1", "restart=1"} {
		e := &exhaustive.Search{Scenario: locktest.Planned(t, asksAside(), 2, 1, plan)}
		if r := e.Run(context.Background(), t); !r.Complete || r.Failure != nil {
			t.Errorf("%s: complete %v, failure %v", plan, r.Complete, r.Failure)
		}
	}
	runner := engine.NewRunner(t)
	s := locktest.Planned(t, asksAside(), 2, 1, "crash=1")
	s.Client = scenarios.Real
	for schedule := range 50 {
		if result := runner.Run(&s, strategy.NewRandom(1, schedule)); len(result.Violations) > 0 {
			t.Fatal(result.Describe(&s))
		}
	}
}

// A leak of a surviving process is reported despite a crash.
func TestCrashHidesNoLeak(t *testing.T) {
	runner := engine.NewRunner(t)
	s := locktest.Planned(t, locktest.Leaks(), 2, 1, "crash:c1=1")
	crashes := 0
	for schedule := range 100 {
		result := runner.Run(&s, strategy.NewRandom(1, schedule))
		if result.Coverage.Total(faults.Crash) == 0 {
			continue
		}
		crashes++
		if !leaked(result) {
			t.Fatalf("c1 crashed, and the leak of c2 was not reported: %s", result.Describe(&s))
		}
		if !strings.HasPrefix(result.Leak, "goroutine in locktest.Leaks.func1.1 (defects.go:") {
			t.Fatalf("the leak is %q", result.Leak)
		}
	}
	if crashes == 0 {
		t.Error("no process crashed")
	}
	e := &exhaustive.Search{Scenario: locktest.Planned(t, locktest.Leaks(), 2, 1, "crash:c1=1")}
	if r := e.Run(context.Background(), t); r.Failure == nil ||
		!slices.ContainsFunc(r.Failure.Violations,
			func(v *history.Violation) bool { return v.Property == history.NoGoroutineLeak }) {
		t.Errorf("failure %v", r.Failure)
	}
}
