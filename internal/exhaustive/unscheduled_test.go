//go:build !interlock_scheduler

package exhaustive_test

import (
	"context"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/internal/campaign"
	"github.com/interlock-sim/interlock/internal/exhaustive"
	"github.com/interlock-sim/interlock/internal/locktest"
)

// On the stock Go runtime, searches of a lock with concurrency of its own go on to their end, and
// an exhaustive search says why it is not complete.
func TestUnscheduledLocks(t *testing.T) {
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
	for _, fixed := range []bool{true, false} {
		c := &campaign.Campaign{
			Scenario: *locktest.Scenario(locktest.RandomSelect(fixed), 2, 1, 0), Seed: 1,
			Schedules: 500, Workers: 2,
		}
		r := c.Run(context.Background(), t)
		if fixed != (r.Failure == nil) || fixed && (r.Schedules != 500 || r.Differing == 0) {
			t.Errorf("fixed %v: failure %+v after %d schedules, %s", fixed, r.Failure, r.Schedules,
				r.DescribeDiffering())
		}
	}
}
