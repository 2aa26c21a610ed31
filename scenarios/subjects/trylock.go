package subjects

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/scenarios"
)

// TryLock is the production lock, acquired by polling TryLock. A failed attempt must leave no node
// behind.
func TryLock() scenarios.Subject {
	s := production("trylock", "lock.Mutex, acquired by polling TryLock",
		func(p *scenarios.Process) (lockFunc, error) {
			mutex, err := newMutex(p)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context) (*scenarios.Hold, error) {
				for {
					var lease *lock.Lease
					err := scenarios.Timed(ctx, 0, func() (err error) {
						lease, err = mutex.TryLock(ctx)
						return err
					})
					if !errors.Is(err, lock.ErrNotAcquired) &&
						!errors.Is(err, lock.ErrUnavailable) {
						return hold(lease, err)
					}
					select {
					case <-ctx.Done():
						return nil, context.Cause(ctx)
					case <-time.After(retryDelay):
					}
				}
			}, nil
		})
	// A process polls until the lock is free.
	s.Limits.Requests, s.Limits.Overtakings = history.Unbounded, history.Unbounded
	// No process waits in a queue.
	s.Sometimes = []history.Sometimes{check.Contention, check.LostCreate}
	return s
}
