package subjects

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/scenarios"
)

// attemptTimeout is the deadline of the first two attempts of deadline-retry, and of its Unlock.
const attemptTimeout = 300 * time.Millisecond

// DeadlineRetry is the production lock, acquired with a deadline and retried by the same owner
// after the deadline expires. Another goroutine than the acquiring one unlocks it, also with a
// deadline. A thread remains that owner, so that it may lock again before the node of its last
// hold is removed.
func DeadlineRetry() scenarios.Subject {
	s := production("deadline-retry", "lock.Mutex with a deadline, retried after it expires, "+
		"unlocked by another goroutine", func(p *scenarios.Process) (lockFunc, error) {
		mutex, err := newMutex(p)
		if err != nil {
			return nil, err
		}
		var idle idleOwners
		return func(ctx context.Context) (*scenarios.Hold, error) {
			owner := idle.take()
			lease, err := lockWithTimeout(ownedContext{ctx, owner}, mutex)
			h, err := hold(lease, err)
			if err != nil {
				idle.put(owner)
				return nil, err
			}
			h.Unlock = func(ctx context.Context) error {
				defer idle.put(owner)
				bounded, cancel := context.WithTimeout(ctx, attemptTimeout)
				defer cancel()
				unlocked := make(chan error, 1)
				go func() { unlocked <- lease.Unlock(bounded) }()
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

// idleOwners are the owners of a process that neither acquire nor hold the lock. A single thread
// remains the same owner; threads that overlap are different ones.
type idleOwners struct {
	mu     sync.Mutex
	owners []context.Context
}

// take returns the owner that was put last, or a new one.
func (o *idleOwners) take() context.Context {
	o.mu.Lock()
	defer o.mu.Unlock()
	last := len(o.owners) - 1
	if last < 0 {
		return lock.WithOwner(context.Background())
	}
	owner := o.owners[last]
	o.owners = o.owners[:last]
	return owner
}

func (o *idleOwners) put(owner context.Context) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.owners = append(o.owners, owner)
}

// An ownedContext is a context that identifies the owner in another one.
type ownedContext struct {
	context.Context
	owner context.Context
}

func (c ownedContext) Value(key any) any {
	if value := c.owner.Value(key); value != nil {
		return value
	}
	return c.Context.Value(key)
}

// lockWithTimeout calls Lock with a deadline at most twice and then without one. Unlimited retries
// would accumulate nodes to delete while no request reaches a server.
func lockWithTimeout(ctx context.Context, mutex *lock.Mutex) (lease *lock.Lease, err error) {
	for range 2 {
		err = scenarios.Timed(ctx, attemptTimeout, func() (err error) {
			bounded, cancel := context.WithTimeout(ctx, attemptTimeout)
			defer cancel()
			lease, err = mutex.Lock(bounded)
			return err
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			return lease, err
		}
	}
	return mutex.Lock(ctx)
}
