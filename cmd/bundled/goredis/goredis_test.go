package goredis_test

import (
	"context"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/cmd/bundled/goredis"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim/simredis"
)

// setnx is a lock that sets a key unless it exists, and deletes the key to release. It uses
// go-redis, unmodified.
func setnx(expiry time.Duration) scenarios.Subject {
	return scenarios.Subject{
		Name: "setnx", Service: simredis.Service{},
		Claims: []history.Property{history.ClientMutualExclusion, history.Progress},
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			c := goredis.Open(p.Handle.(*simredis.Client), 0)
			unlock := func(ctx context.Context) error {
				return retry(ctx, func() bool { return c.Del(ctx, "lock").Err() == nil })
			}
			return scenarios.LockerFunc(func(ctx context.Context) (*scenarios.Hold, error) {
				err := retry(ctx, func() bool {
					set, err := c.SetNX(ctx, "lock", p.Number, expiry).Result()
					return set && err == nil
				})
				return &scenarios.Hold{Unlock: unlock}, err
			}), nil
		},
	}
}

// A fault that Redis servers do not have is refused.
func TestServiceWithoutFault(t *testing.T) {
	s := scenarios.Scenario{Subject: setnx(0), Clients: 2, Cycles: 1}
	s.Faults = faults.Of(faults.Expire, 1)
	err := s.Validate()
	if want := "the service of the lock setnx has no fault expire"; err == nil ||
		err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// retry calls the function, with pauses, until it returns true.
func retry(ctx context.Context, do func() bool) error {
	for !do() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}

func scenario(t *testing.T, subject scenarios.Subject, plan string) *scenarios.Scenario {
	t.Helper()
	parsed, err := faults.Parse(plan)
	if err != nil {
		t.Fatal(err)
	}
	s := &scenarios.Scenario{Subject: subject, Clients: 3, Cycles: 2, Faults: parsed}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return s
}

// A lock that is written with go-redis runs unchanged. The same schedule gives the same events.
func TestDeterminism(t *testing.T) {
	s := scenario(t, setnx(time.Second), "any=3")
	runner := engine.NewRunner(t)
	for schedule := range 200 {
		first := runner.Run(s, strategy.NewRandom(1, schedule))
		again := runner.RunAgain(context.Background(), s, schedule,
			strategy.NewRandom(1, schedule), first)
		if again != nil {
			t.Fatal(again)
		}
	}
}

// What a key without an owner, with and without an expiry, does not promise.
func TestFindings(t *testing.T) {
	for _, test := range []struct {
		name, plan string
		expiry     time.Duration
		want       history.Property // "" for no violation
	}{
		{"no fault", "none", 0, ""},
		{"crash", "crash=1", 0, history.Progress},
		{"lost reply", "lose-reply=1", 0, history.Progress},
		{"request served after the client has given up", "stall-server=1", 0, history.Progress},
		{"long critical section", "none", time.Second, history.ClientMutualExclusion},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := scenario(t, setnx(test.expiry), test.plan)
			runner := engine.NewRunner(t)
			for schedule := range 300 {
				r := runner.Run(s, strategy.NewRandom(1, schedule))
				if len(r.Violations) == 0 {
					continue
				}
				if got := r.Violations[0]; got.Property != test.want {
					t.Fatalf("schedule %d violates %s: %s", schedule, got.Property, got.Detail)
				}
				return
			}
			if test.want != "" {
				t.Errorf("no schedule violates %s", test.want)
			}
		})
	}
}
