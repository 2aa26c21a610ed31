package lock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Do takes the lock, calls the function and unlocks. The function's context ends when the lock is
// lost, and carries the lease: see [LeaseFrom].
//
// Do returns the error of Lock, and then the function is not called. Otherwise it returns the
// errors of the function, of the lease and of Unlock, joined in the order in which they happened,
// so that its text begins with what came first. An error that wraps [ErrLost] does not say whether
// the function was done: a variable that the function sets does.
//
// Do waits until the function returns, also after a loss. Revoke does not end its context. After a
// pause the context can still be live for a moment although the lease has expired; Err of the lease
// checks the clock. If the context of Do has ended, Do does not wait for ZooKeeper to confirm that
// the lock is free. If the function panics, the lock is released in the background. After a loss,
// Do may be called again at once.
func (m *Mutex) Do(ctx context.Context, f func(context.Context) error) error {
	return do(ctx, m.Lock, f)
}

// TryLockFor is Lock, but returns [ErrNotAcquired] if others are still before it after the wait, or
// [ErrUnavailable] if it has not learned by then whether the lock is free. It returns when the wait
// is over, and its node is removed in the background. If the wait is zero or negative, it is
// TryLock.
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

// TryLockFor is Lock, but all of the locks must be free within the wait: see [Mutex.TryLockFor].
func (m *Multi) TryLockFor(ctx context.Context, wait time.Duration) (*MultiLease, error) {
	if wait <= 0 {
		return m.TryLock(ctx)
	}
	ctx, result, cancel := limitWait(ctx, wait)
	defer cancel()
	return m.take(ctx, func(l Locker, ctx context.Context) (*Lease, error) {
		return result(l.Lock(ctx))
	})
}

type leaseKey struct{}

// LeaseFrom returns the lease of the function that Do has called with the context: of the innermost
// one, if calls of Do are nested. It returns nil for any other context and for that of [Multi.Do].
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
	ctx, result, cancel := limitWait(ctx, wait)
	defer cancel()
	return result(l.Lock(ctx))
}

// limitWait returns a context for calls of Lock, one after the other, that end with the wait, and a
// function that makes what they return the result of TryLockFor.
func limitWait(ctx context.Context, wait time.Duration) (limited context.Context,
	result func(*Lease, error) (*Lease, error), cancel func(),
) {
	var blocked atomic.Bool
	ctx = context.WithValue(ctx, blockedKey{}, &blocked)
	limited, cancel = context.WithTimeoutCause(ctx, wait, errWaited)
	return limited, func(lease *Lease, err error) (*Lease, error) {
		switch {
		case err == nil:
			blocked.Store(false)
			return lease, nil
		case blocked.Load() && errors.Is(err, errWaited):
			return nil, ErrNotAcquired
		case !blocked.Load() && limited.Err() == context.DeadlineExceeded &&
			errors.Is(err, context.Cause(limited)):
			return nil, unanswered(limited)
		}
		return nil, err
	}, cancel
}

// unanswered returns the error of a try whose context has ended before ZooKeeper has answered.
func unanswered(ctx context.Context) error {
	if ctx.Err() != context.DeadlineExceeded {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, context.Cause(ctx))
}

// blockedKey is the key of a context's *atomic.Bool, which is set when others are before the
// contender.
type blockedKey struct{}

var errWaited = fmt.Errorf("the wait is over: %w", context.DeadlineExceeded)
