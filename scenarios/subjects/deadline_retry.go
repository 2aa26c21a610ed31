package subjects

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/scenarios"
)

// patience is how long a hurried process waits at first.
const patience = 300 * time.Millisecond

// Hurried is the production lock, asked for with a deadline, and again by the same owner when that
// has passed. It is given back by another goroutine than the one that took it.
func Hurried() scenarios.Subject {
	s := production("deadline-retry", "lock.Mutex with a deadline, again after that, and given "+
		"back "+
		"by another goroutine", func(p *scenarios.Process) (lockFunc, error) {
		mutex, err := newMutex(p)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (*scenarios.Hold, error) {
			lease, err := lockInTime(lock.WithOwner(ctx), mutex)
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
	// A call that is made again queues anew, behind those that have come in the meantime, and the
	// node of the one before is removed.
	s.Limits.Requests, s.Limits.Overtakings = 30, history.Unbounded
	return s
}

// lockInTime calls Lock with a deadline, and once more if that has passed. Then it waits for as
// long as it takes: who asks again and again while nothing gets through has more and more nodes to
// be removed.
func lockInTime(ctx context.Context, mutex *lock.Mutex) (*lock.Lease, error) {
	for range 2 {
		bounded, cancel := context.WithTimeout(ctx, patience)
		lease, err := mutex.Lock(bounded)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			return lease, err
		}
	}
	return mutex.Lock(ctx)
}
