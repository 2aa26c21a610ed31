package subjects

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/scenarios"
)

// polled is the recipe, acquired by polling a try. A try that is not the first leaves the queue.
var polled = recipe{steps: replacing(func(s *steps) {
	s.lock = (*recipeLock).lockByTrying
	s.wait = (*recipeLock).waitForNobody
})}

// allowPolling sets the claims and limits of polled, as those of [TryLock].
func allowPolling(s *scenarios.Subject) {
	s.Claims = append(s.Claims, history.Promptness)
	s.Limits.Requests, s.Limits.Overtakings = history.Unbounded, history.Unbounded
	s.Sometimes = []history.Sometimes{check.Contention, check.LostCreate}
}

// errOthersFirst is the error of a try while others queue for the lock or hold it.
var errOthersFirst = errors.New("others are before this contender")

// tryDelay is the time between tries. A try costs about ten requests, with its clean-up.
const tryDelay = time.Second

// lockByTrying repeats a try until it has the lock.
func (r *recipeLock) lockByTrying(ctx context.Context) (*scenarios.Hold, error) {
	for {
		err := scenarios.Timed(ctx, 0, func() error { return r.attempt(ctx) })
		if err == nil {
			return r.hold(), nil
		}
		if err != errOthersFirst {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(tryDelay):
		}
	}
}

// waitForNobody ends a try that would have to wait.
func (r *recipeLock) waitForNobody(context.Context, []string) (woken bool, err error) {
	return false, errOthersFirst
}
