package engine_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// sendsFor returns a lock that sends a request after each pause until the process ends, or the
// requests are sent. It does not leak: its goroutine ends when the run does.
func sendsFor(name string, pause time.Duration, requests int) scenarios.Subject {
	s := locktest.LeavesBehind(name, func(p *scenarios.Process) {
		for range requests {
			select {
			case <-p.Context().Done():
				return
			case <-time.After(pause):
			}
			p.Client.Exists(p.Directory)
		}
	})
	s.Claims = append(slices.Clone(s.Claims), history.Quiescence)
	return s
}

const endless = 1_000_000_000

func restless(violations []*history.Violation) bool {
	return slices.ContainsFunc(violations,
		func(v *history.Violation) bool { return v.Property == history.Quiescence })
}

// Requests that go on after the last unlock are found at any rate, with either client and in every
// kind of search. Requests that cease are no violation.
func TestEndlessRequestsBreakQuiescence(t *testing.T) {
	flood := locktest.DeletesUntilClosed()
	flood.Claims = append(slices.Clone(flood.Claims), history.Quiescence)
	for _, tc := range []struct {
		subject scenarios.Subject
		breaks  bool
	}{
		{flood, true},
		{sendsFor("ten-a-second", 100*time.Millisecond, endless), true},
		{sendsFor("one-a-second", time.Second, endless), true},
		{sendsFor("one-in-40-seconds", 40*time.Second, endless), true},
		{sendsFor("one-later", 40*time.Second, 1), false},
		{sendsFor("eighty", 100*time.Millisecond, 80), false},
		{sendsFor("for-50-seconds", 10*time.Second, 5), false},
		{sendsFor("for-70-seconds", 10*time.Second, 7), true},
	} {
		t.Run(tc.subject.Name, func(t *testing.T) {
			runner := engine.NewRunner(t)
			for _, client := range []scenarios.ClientKind{scenarios.Model, scenarios.Real} {
				s := locktest.Planned(t, tc.subject, 2, 1, "none")
				s.Client = client
				for schedule := range 3 {
					r := runner.Run(&s, strategy.NewRandom(1, schedule))
					if restless(r.Violations) != tc.breaks || r.Leak != "" {
						t.Fatalf("client %v: %s", client, r.Describe(&s))
					}
				}
			}
			for _, live := range []bool{false, true} {
				e := &exhaustive.Search{
					Scenario:      locktest.Planned(t, tc.subject, 1, 1, "none"),
					NoReplayCache: live,
				}
				r := e.Run(context.Background(), t)
				if (r.Failure != nil) != tc.breaks || !tc.breaks && !r.Complete {
					t.Errorf("live %v: failure %v, complete %v", live, r.Failure, r.Complete)
				}
			}
		})
	}
}

// A lock that does not claim the property may send requests as long as it likes.
func TestUnclaimedQuiescence(t *testing.T) {
	subject := sendsFor("one-a-second", time.Second, endless)
	subject.Claims = []history.Property{history.ServerMutualExclusion}
	s := locktest.Planned(t, subject, 2, 1, "none")
	if r := engine.NewRunner(t).Run(&s, strategy.NewRandom(1, 0)); len(r.Violations) > 0 {
		t.Error(r.Describe(&s))
	}
}

// The claim changes nothing in the run of a lock that sends nothing after its last unlock.
func TestSilenceLeavesNoTrace(t *testing.T) {
	silent := 0
	for _, client := range []scenarios.ClientKind{scenarios.Model, scenarios.Real} {
		with := *locktest.Scenario(subjects.Textbook(), 2, 1, 1)
		with.Client = client
		without := with
		unclaimed := subjects.Textbook()
		unclaimed.Claims = slices.DeleteFunc(slices.Clone(unclaimed.Claims),
			func(p history.Property) bool { return p == history.Quiescence })
		without.Subject = unclaimed
		runner, other := engine.NewRunner(t), engine.NewRunner(t)
		for schedule := range 100 {
			a := runner.Run(&with, strategy.NewRandom(1, schedule))
			b := other.Run(&without, strategy.NewRandom(1, schedule))
			if a.TraceHash != b.TraceHash || a.Steps != b.Steps || len(a.Keys) != len(b.Keys) ||
				!slices.Equal(a.Deviations, b.Deviations) {
				t.Fatalf("client %v, schedule %d: %d steps and %d events, %d and %d without the "+
					"claim", client, schedule, a.Steps, len(a.Events), b.Steps, len(b.Events))
			}
			if !slices.ContainsFunc(a.Events,
				func(e history.Event) bool { return e.Kind == history.FairPhase }) {
				silent++
			}
		}
	}
	if silent < 50 {
		t.Errorf("only %d runs ended before their fair phase", silent)
	}
}
