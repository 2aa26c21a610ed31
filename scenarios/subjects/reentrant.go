package subjects

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/scenarios"
)

// Reentrant is the production lock, taken three times over by one owner, through two handles. It
// panics where the lock counts wrongly: where it is gone after fewer unlocks than there were locks,
// or is re-entered when it is over.
func Reentrant() scenarios.Subject {
	s := production("reentrant", "lock.Mutex, re-entered by its owner",
		func(p *scenarios.Process) (lockFunc, error) {
			first, err := newMutex(p)
			if err != nil {
				return nil, err
			}
			second, err := newMutex(p)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context) (*scenarios.Hold, error) {
				ctx = lock.WithOwner(ctx)
				outer, err := first.Lock(ctx)
				if err != nil {
					return nil, err
				}
				inner, err := reenter(ctx, outer, first, second)
				if err != nil {
					return nil, errors.Join(err, outer.Unlock(ctx))
				}
				h, err := hold(outer, nil)
				h.Reenter = func(context.Context) (*scenarios.Hold, error) {
					return reenterOnce(ctx, outer,
						second)
				}
				owner := context.WithoutCancel(ctx)
				h.Unlock = func(ctx context.Context) error {
					if outer.Err() != nil {
						return errors.Join(startAnew(owner, outer, second),
							unlockInTurn(ctx, outer, inner))
					}
					failed := unlockInTurn(ctx, outer, inner)
					if failed == nil {
						return nil
					}
					return errors.Join(failed, startAnew(owner, outer, second))
				}
				return h, err
			}, nil
		})
	s.Limits.Requests = 16 // one that is lost meanwhile is made anew
	return s
}

// reenter takes the lock twice more. A lock that is lost in between is not re-entered: then this is
// a new attempt, whose leases count for themselves and are given back.
func reenter(ctx context.Context, outer *lock.Lease, mutexes ...*lock.Mutex) ([]*lock.Lease,
	error,
) {
	var inner []*lock.Lease
	for _, mutex := range mutexes {
		lease, err := mutex.TryLock(ctx)
		if errors.Is(err, lock.ErrNotAcquired) && outer.Err() != nil {
			return inner, nil // Somebody else has it by now.
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

// reenterOnce takes the lock once more while the outer lease stands. A lease that stands for
// itself, because the outer one was lost just then, is given back.
func reenterOnce(ctx context.Context, outer *lock.Lease, mutex *lock.Mutex) (*scenarios.Hold,
	error,
) {
	lease, err := mutex.TryLock(ctx)
	if err != nil {
		return nil, err
	}
	if lease.Node() != outer.Node() {
		return nil, errors.Join(errLost, lease.Unlock(ctx))
	}
	return hold(lease, nil)
}

// startAnew takes a lock that was lost, or whose release has failed, once more, if that can be, and
// gives it back. It is not re-entered then, but taken anew.
func startAnew(ctx context.Context, outer *lock.Lease, mutex *lock.Mutex) error {
	lease, err := mutex.TryLock(ctx)
	if err != nil {
		return nil // Somebody else has it, or it cannot be had now.
	}
	if lease.Node() == outer.Node() {
		panic(fmt.Sprintf("%s was re-entered when it was over", lease.Node()))
	}
	return lease.Unlock(ctx)
}

// unlockInTurn unlocks the outer lease first: the order is no matter. A lease that is unlocked
// twice counts once.
func unlockInTurn(ctx context.Context, outer *lock.Lease, inner []*lock.Lease) error {
	err := errors.Join(outer.Unlock(ctx))
	for i, lease := range inner {
		if lease.Err() == nil && isDone(lease) {
			panic(fmt.Sprintf("%s was given back with %d leases on it", lease.Node(), len(inner)-i))
		}
		if outer.Unlock(ctx) == nil && i < len(inner)-1 && lease.Err() == nil && isDone(lease) {
			panic(fmt.Sprintf("%s was given back when a lease was unlocked twice", lease.Node()))
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
