package everylock

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// CancelInCall returns a context that is canceled in the given call of the subject's Lock or
// Unlock, the instrumented subject, and the counter of calls.
func CancelInCall(s scenarios.Subject, call int64) (context.Context, scenarios.Subject,
	*atomic.Int64,
) {
	ctx, end := context.WithCancel(context.Background())
	calls := new(atomic.Int64)
	count := func() {
		if calls.Add(1) == call {
			end()
		}
	}
	open := s.Open
	s.Open = func(p *scenarios.Process) (scenarios.Locker, error) {
		locker, err := open(p)
		return scenarios.LockerFunc(func(ctx context.Context) (*scenarios.Hold, error) {
			count()
			hold, err := locker.Lock(ctx)
			if err != nil {
				return nil, err
			}
			counted := *hold
			counted.Unlock = func(ctx context.Context) error {
				count()
				return hold.Unlock(ctx)
			}
			return &counted, nil
		}), err
	}
	return ctx, s, calls
}

// BubbleGoroutines counts the goroutines in bubbles. Completed runs leave none.
func BubbleGoroutines() int {
	dump := make([]byte, 16<<20)
	return bytes.Count(dump[:runtime.Stack(dump, true)], []byte("synctest bubble"))
}

// CanceledRunsEnd tests that the goroutines of a lock end when its run is canceled at any point.
func CanceledRunsEnd(t *testing.T, locks []scenarios.Subject) {
	t.Helper()
	for _, s := range long.Sample(locks, 16) {
		if s.Name == "forgotten-wait" {
			continue // It always leaks a goroutine.
		}
		for _, client := range []scenarios.ClientKind{scenarios.Model, scenarios.Real} {
			c := &campaign.Campaign{Scenario: *locktest.Scenario(s, 3, 2, 2), Seed: 1}
			if c.Scenario.Client = client; c.Scenario.Validate() != nil ||
				client == scenarios.Real &&
					real.RaceDetector {
				continue
			}
			t.Run(fmt.Sprint(s.Name, " ", client), func(t *testing.T) {
				before := BubbleGoroutines()
				for _, call := range []int64{1, 4, 7, 15, 22, 37, 60} {
					ctx, subject, _ := CancelInCall(s, call)
					c.Scenario.Subject = subject
					if r := c.Run(ctx, t); r.Failure == nil && r.Nondeterministic == nil &&
						!r.Interrupted {
						t.Errorf("call %d: not interrupted, after %d schedules", call, r.Schedules)
					}
				}
				if left := BubbleGoroutines() - before; left != 0 {
					t.Errorf("%d goroutines remain", left)
				}
			})
		}
	}
}
