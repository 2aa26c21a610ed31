package interlock_test

import (
	"context"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
)

// search runs a small campaign and returns the properties that its first failing schedule violates.
func search(t *testing.T, s scenarios.Scenario) (violated []history.Property) {
	c := &campaign.Campaign{
		Scenario: s.Resolved(), Schedules: 400, Seed: 1, Workers: 1,
	}
	r := c.Run(context.Background(), t).Common()
	if r.Failure == nil {
		return nil
	}
	for _, v := range r.Failure.Violations {
		violated = append(violated, v.Property)
	}
	return violated
}

// A lock with several places fails in a scenario that declares fewer.
func TestFewerPlacesThanTheLockGrants(t *testing.T) {
	s := semaphoreScenario()
	if violated := search(t, s); violated != nil {
		t.Errorf("with the right number of places: %v", violated)
	}
	s.Subject.Places = 1
	if violated := search(t, s); len(violated) == 0 {
		t.Error("two holders of one place are no violation")
	}
}

// RWMutex takes the functions of a read-write lock, and the modes are those of the scenario.
func TestRWMutex(t *testing.T) {
	for _, tc := range []struct {
		name   string
		shared func(process, attempt int) bool
	}{
		{"every second attempt", func(_, attempt int) bool { return attempt%2 == 0 }},
		{"all write", func(int, int) bool { return false }},
		{"all read", func(int, int) bool { return true }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := scenarios.Scenario{
				Subject: locktest.Queue(0, locktest.NoDefect), Clients: 3, Cycles: 2,
			}
			open := s.Subject.Open
			s.Subject.Shared = tc.shared
			s.Subject.Open = func(p *scenarios.Process) (scenarios.Locker, error) {
				locker, err := open(p)
				var held *scenarios.Hold
				lock := func(
					f func(context.Context) (*scenarios.Hold, error),
				) func(context.Context) error {
					return func(ctx context.Context) (err error) {
						held, err = f(ctx)
						return err
					}
				}
				unlock := func(ctx context.Context) error { return held.Unlock(ctx) }
				return scenarios.RWMutex(lock(locker.Lock), unlock,
					lock(locker.(scenarios.SharedLocker).LockShared), unlock), err
			}
			if violated := search(t, s); violated != nil {
				t.Errorf("violates %v", violated)
			}
			if tc.name != "all read" {
				return
			}
			s.Subject.Shared = nil
			s.Subject.Open = func(p *scenarios.Process) (scenarios.Locker, error) {
				locker, err := open(p)
				return scenarios.LockerFunc(locker.(scenarios.SharedLocker).LockShared), err
			}
			if violated := search(t, s); len(violated) == 0 {
				t.Error("readers that the scenario declares as writers violate nothing")
			}
		})
	}
}

// A scenario whose attempts share the lock needs a handle that can.
func TestSharedNeedsASharedLocker(t *testing.T) {
	s := semaphoreScenario()
	s.Subject.Places, s.Subject.Shared = 1, func(int, int) bool { return true }
	violated := search(t, s)
	if len(violated) != 1 || violated[0] != history.NoPanic {
		t.Errorf("violates %v", violated)
	}
}
