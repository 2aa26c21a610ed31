package campaign_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// A cancellation does not count as struck if the lock never asks whether its context has ended.
func TestCancelStrikesOnlyWhoHeeds(t *testing.T) {
	for _, tc := range []struct {
		name  string
		heeds bool
		pass  func(context.Context) context.Context
	}{
		{"the context", true, func(ctx context.Context) context.Context { return ctx }},
		{"a context below it", true, func(ctx context.Context) context.Context {
			below, cancel := context.WithCancel(ctx)
			context.AfterFunc(below, cancel)
			return below
		}},
		{"none", false, func(context.Context) context.Context { return context.Background() }},
		{"its values", false, context.WithoutCancel},
	} {
		t.Run(tc.name, func(t *testing.T) {
			subject := passing(tc.pass)
			for _, plan := range []string{"cancel=1", "cancel:c1=1"} {
				c := &campaign.Campaign{
					Scenario: locktest.Planned(t, subject, 2, 1, plan), Seed: 1, Schedules: 60,
				}
				want := fmt.Sprintf("[%s]", plan[:len(plan)-len("=1")])
				if tc.heeds {
					want = "[]"
				}
				found := c.Run(context.Background(), t)
				if never := fmt.Sprint(c.NeverCovered(found)); never != want {
					t.Errorf("%s: never struck are %s, want %s", plan, never, want)
				}
			}
			x := &exhaustive.Search{Scenario: locktest.Planned(t, subject, 2, 1, "cancel=1")}
			r := x.Run(context.Background(), t)
			if struck := r.Coverage.Total(faults.Cancel) > 0; struck != tc.heeds {
				t.Errorf("an exhaustive search: struck is %v", struck)
			}
		})
	}
}

// passing returns the textbook lock, called with what a function makes of its context.
func passing(pass func(context.Context) context.Context) scenarios.Subject {
	s := subjects.Textbook()
	open := s.Open
	s.Open = func(p *scenarios.Process) (scenarios.Locker, error) {
		locker, err := open(p)
		return scenarios.LockerFunc(func(ctx context.Context) (*scenarios.Hold, error) {
			return locker.Lock(pass(ctx))
		}), err
	}
	return s
}
