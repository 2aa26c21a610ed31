package subjects

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/scenarios"
)

// Reentrant is the production lock, acquired three times by one owner through two handles. It
// panics if the lock miscounts: if the lease ends after fewer unlocks than acquires, or if an ended
// lease is re-entered.
func Reentrant() scenarios.Subject {
	s := production("reentrant", "lock.Mutex, re-entered by its owner",
		func(p *scenarios.Process) (lockFunc, error) {
			session := newSession(p, p.Client)
			first, err := lock.NewMutex(session, p.Directory, options(p)...)
			if err != nil {
				return nil, err
			}
			second, err := lock.NewMutex(session, p.Directory, options(p)...)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context) (*scenarios.Hold, error) {
				ctx = lock.WithOwner(ctx)
				outer, err := first.Lock(ctx)
				if err != nil {
					return nil, err
				}
				inner, err := reenterAll(ctx, outer, first, second)
				if err != nil {
					return nil, errors.Join(err, outer.Unlock(ctx))
				}
				h, err := hold(outer, nil)
				h.Reenter = func(context.Context) (*scenarios.Hold, error) {
					return reenterOnce(ctx, outer, second)
				}
				owner := context.WithoutCancel(ctx)
				h.Unlock = func(ctx context.Context) error {
					if outer.Err() != nil {
						return errors.Join(reacquire(owner, outer, second),
							unlockAll(ctx, outer, inner))
					}
					failed := unlockAll(ctx, outer, inner)
					if failed == nil {
						return nil
					}
					return errors.Join(failed, reacquire(owner, outer, second))
				}
				return h, err
			}, nil
		})
	s.Limits.Requests = 16 // A lock that is lost between the acquires is acquired anew.
	return s
}

// reenterAll re-enters the lock through each handle. If the outer lease is lost in between, an
// acquire yields a new lease, which is unlocked at once.
func reenterAll(ctx context.Context, outer *lock.Lease,
	mutexes ...*lock.Mutex,
) ([]*lock.Lease, error) {
	var inner []*lock.Lease
	for _, mutex := range mutexes {
		lease, err := mutex.TryLock(ctx)
		if outer.Err() != nil &&
			(errors.Is(err, lock.ErrNotAcquired) || errors.Is(err, lock.ErrUnavailable)) {
			return inner, nil // The lock was lost, and another process may hold it.
		}
		if err != nil {
			for _, l := range inner {
				err = errors.Join(err, l.Unlock(ctx))
			}
			return nil, err
		}
		if lease.Node() != outer.Node() {
			if outer.Err() == nil {
				panic(fmt.Sprintf("%s was granted to the holder of %s", lease.Node(), outer.Node()))
			}
			if err := lease.Unlock(ctx); err != nil && !errors.Is(err, lock.ErrLost) {
				return inner, nil
			}
			continue
		}
		inner = append(inner, lease)
	}
	return inner, nil
}

// reenterOnce re-enters the lock while the outer lease is held. If the outer lease was just lost,
// the new lease is unlocked at once.
func reenterOnce(ctx context.Context, outer *lock.Lease,
	mutex *lock.Mutex,
) (*scenarios.Hold, error) {
	lease, err := mutex.TryLock(ctx)
	if err != nil {
		return nil, err
	}
	if lease.Node() != outer.Node() {
		return nil, errors.Join(errLost, lease.Unlock(ctx))
	}
	return hold(lease, nil)
}

// reacquire tries to acquire a lock that was lost, or whose release failed, and unlocks it again.
// It panics if the ended lease was re-entered.
func reacquire(ctx context.Context, outer *lock.Lease, mutex *lock.Mutex) error {
	lease, err := mutex.TryLock(ctx)
	if err != nil {
		return nil // Another process holds the lock, or the attempt failed.
	}
	if lease.Node() == outer.Node() {
		panic(fmt.Sprintf("%s was re-entered after it had ended", lease.Node()))
	}
	return lease.Unlock(ctx)
}

// unlockAll unlocks the outer lease first, since the order must not matter. It unlocks the outer
// lease again after that, since a second unlock of one lease must not count.
func unlockAll(ctx context.Context, outer *lock.Lease, inner []*lock.Lease) error {
	err := errors.Join(outer.Unlock(ctx))
	for i, lease := range inner {
		if lease.Err() == nil && isDone(lease) {
			panic(fmt.Sprintf("%s was released while %d leases were held", lease.Node(),
				len(inner)-i))
		}
		if outer.Unlock(ctx) == nil && i < len(inner)-1 && lease.Err() == nil && isDone(lease) {
			panic(fmt.Sprintf("%s was released when a lease was unlocked twice", lease.Node()))
		}
		err = errors.Join(err, lease.Unlock(ctx))
	}
	return err
}

func isDone(lease *lock.Lease) bool {
	select {
	case <-lease.Done():
		return true
	default:
		return false
	}
}
