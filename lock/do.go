package lock

import (
	"context"
	"errors"
	"time"
)

// Do takes the lock, calls the function and unlocks. The function's context ends when the lock is
// lost, and carries the lease: see [LeaseFrom].
//
// Do returns the error of Lock, and then the function is not called. Otherwise it returns the
// errors of the function, of the lease and of Unlock, joined in the order in which they happened.
// So the first tells whether the function failed or the lock was lost first. If the context has
// ended, Do does not wait for ZooKeeper to confirm that the lock is free. If the function panics,
// the lock is released in the background.
func (m *Mutex) Do(ctx context.Context, f func(context.Context) error) error {
	return do(ctx, m.Lock, f)
}

// TryLockFor is Lock, but returns [ErrNotAcquired] if it does not hold the lock after the wait.
// Without a wait it is TryLock.
func (m *Mutex) TryLockFor(ctx context.Context, wait time.Duration) (*Lease, error) {
	return tryFor(ctx, wait, m)
}

// Do is [Mutex.Do] for writing. For reading, call Do of RLocker.
func (m *RWMutex) Do(ctx context.Context, f func(context.Context) error) error {
	return do(ctx, m.Lock, f)
}

// TryLockFor is [Mutex.TryLockFor] for writing. For reading, call TryLockFor of RLocker.
func (m *RWMutex) TryLockFor(ctx context.Context, wait time.Duration) (*Lease, error) {
	return tryFor(ctx, wait, m)
}

func (r reader) Do(ctx context.Context, f func(context.Context) error) error {
	return do(ctx, r.Lock, f)
}

func (r reader) TryLockFor(ctx context.Context, wait time.Duration) (*Lease, error) {
	return tryFor(ctx, wait, r)
}

// Do is [Mutex.Do] with a place of the semaphore.
func (s *Semaphore) Do(ctx context.Context, f func(context.Context) error) error {
	return do(ctx, s.Lock, f)
}

// TryLockFor is [Mutex.TryLockFor] for a place of the semaphore.
func (s *Semaphore) TryLockFor(ctx context.Context, wait time.Duration) (*Lease, error) {
	return tryFor(ctx, wait, s)
}

// Do is [Mutex.Do] with all of the locks. The function's context carries no lease.
func (m *Multi) Do(ctx context.Context, f func(context.Context) error) error {
	return do(ctx, m.Lock, f)
}

type leaseKey struct{}

// LeaseFrom returns the lease of the function that Do has called with the context, or nil.
func LeaseFrom(ctx context.Context) *Lease {
	lease, _ := ctx.Value(leaseKey{}).(*Lease)
	return lease
}

// A held is a [Lease] or a [MultiLease].
type held interface {
	Context(context.Context) context.Context
	Err() error
	Unlock(context.Context) error
}

func do[L held](ctx context.Context, lock func(context.Context) (L, error),
	f func(context.Context) error,
) error {
	lease, err := lock(ctx)
	if err != nil {
		return err
	}
	returned := false
	defer func() {
		if !returned {
			lease.Unlock(ended)
		}
	}()
	err = f(context.WithValue(lease.Context(ctx), leaseKey{}, lease))
	returned = true
	if lost := lease.Err(); lost != nil {
		lease.Unlock(ended)
		return errors.Join(lost, err)
	}
	unlocked := lease.Unlock(ctx)
	if cause := context.Cause(ctx); cause != nil && errors.Is(unlocked, cause) {
		return err
	}
	return errors.Join(err, unlocked)
}

// ended is a context that has ended.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

func tryFor(ctx context.Context, wait time.Duration, l Locker) (*Lease, error) {
	if wait <= 0 {
		return l.TryLock(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wait, ErrNotAcquired)
	defer cancel()
	return l.Lock(ctx)
}
