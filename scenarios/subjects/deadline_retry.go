package subjects

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/scenarios"
)

// attemptTimeout is the deadline of the first two attempts of deadline-retry.
const attemptTimeout = 300 * time.Millisecond

// DeadlineRetry is the production lock, acquired with a deadline and retried by the same owner
// after the deadline expires. Another goroutine than the acquiring one unlocks it.
func DeadlineRetry() scenarios.Subject {
	s := production("deadline-retry", "lock.Mutex with a deadline, retried after it expires, "+
		"unlocked by another goroutine", func(p *scenarios.Process) (lockFunc, error) {
		mutex, err := newMutex(p)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (*scenarios.Hold, error) {
			lease, err := lockWithTimeout(lock.WithOwner(ctx), mutex)
			h, err := hold(lease, err)
			if err != nil {
				return nil, err
			}
			h.Unlock = func(ctx context.Context) error {
				unlocked := make(chan error, 1)
				go func() { unlocked <- lease.Unlock(ctx) }()
				return <-unlocked
			}
			return h, nil
		}, nil
	})
	// A retry deletes the node of the failed attempt and queues behind contenders that arrived in
	// the meantime.
	s.Limits.Requests, s.Limits.Overtakings = 30, history.Unbounded
	return s
}

// lockWithTimeout calls Lock with a deadline at most twice and then without one. Unlimited retries
// would accumulate nodes to delete while no request reaches a server.
func lockWithTimeout(ctx context.Context, mutex *lock.Mutex) (*lock.Lease, error) {
	for range 2 {
		bounded, cancel := context.WithTimeout(ctx, attemptTimeout)
		lease, err := mutex.Lock(bounded)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			return lease, err
		}
	}
	return mutex.Lock(ctx)
}
