//go:build !interlock_scheduler

package exhaustive_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
)

// On the stock Go runtime, an exhaustive search of a lock with a random select goes on to its end,
// and says why it is not complete.
func TestUnscheduledSelect(t *testing.T) {
	lock := locktest.RandomSelect(true)
	for _, live := range []bool{false, true} {
		e := &exhaustive.Search{
			Scenario: *locktest.Scenario(lock, 2, 1, 0), NoReplayCache: live, Schedules: 20_000,
		}
		r := e.Run(context.Background(), t)
		if r.Complete || r.Failure != nil || r.Differing == 0 || r.Untried > 0 ||
			!strings.Contains(r.DescribeDiffering(), "locktest/concurrent.go:") {
			t.Errorf("live %v: complete %v, failure %+v, %d untried, %s", live, r.Complete,
				r.Failure, r.Untried, r.DescribeDiffering())
		}
	}
}

// On the stock Go runtime, a search of a lock with a random select has no checkpoint, and says so
// when it begins, or when it would write one.
func TestUnscheduledCheckpoint(t *testing.T) {
	e := &exhaustive.Search{
		Scenario:   *locktest.Scenario(locktest.RandomSelect(true), 2, 1, 0),
		Checkpoint: filepath.Join(t.TempDir(), "checkpoint"),
	}
	err := e.Resume(t)
	for _, want := range []string{
		"the lock is nondeterministic, so no search of it can be resumed",
		"locktest/concurrent.go:", "did not run the same way twice", "event ",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is not %q: %v", want, err)
		}
	}
	e.Scenario = locktest.Planned(t, locktest.Fickle(), 2, 1, "none")
	e.Scenario.Subject.Claims, e.Schedules = nil, 3
	r := e.Run(context.Background(), t)
	if _, missing := os.Stat(e.Checkpoint); r.Differing == 0 || r.Unsaved == nil ||
		!strings.Contains(r.Unsaved.Error(), "can be resumed") || missing == nil {
		t.Errorf("%d schedules differ, error %v", r.Differing, r.Unsaved)
	}
}

// On the stock Go runtime, campaigns of locks with concurrency of their own go on to their end. A
// mutex that is held across a request ends the program instead; see TestDeadlyLocks.
func TestUnscheduledLocks(t *testing.T) {
	for _, tc := range []struct {
		lock    func(fixed bool) scenarios.Subject
		threads int
		differs bool // and the defect is found; otherwise that depends on the runtime
	}{
		{locktest.RandomSelect, 1, true},
		{locktest.WokenTwice, 1, false},
		{handle, 2, false},
	} {
		for _, fixed := range []bool{true, false} {
			lock := tc.lock(fixed)
			c := &campaign.Campaign{
				Scenario: *locktest.Scenario(lock, 2, 1, 0), Seed: 1, Schedules: 500, Workers: 2,
			}
			c.Scenario.Threads = tc.threads
			r := c.Run(context.Background(), t)
			if fixed && (r.Failure != nil || r.Schedules != 500 || tc.differs != (r.Differing > 0)) ||
				!fixed && tc.differs && r.Failure == nil || r.Interrupted {
				t.Errorf("%s: failure %+v after %d schedules, %s", lock.Name, r.Failure,
					r.Schedules, r.DescribeDiffering())
			}
		}
	}
}

// handle returns a lock whose handle threads share, with or without a defect.
func handle(fixed bool) scenarios.Subject {
	if fixed {
		return locktest.Handle(locktest.NoThreadDefect)
	}
	return locktest.Handle(locktest.SharedCounter)
}
