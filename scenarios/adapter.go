package scenarios

import (
	"context"
)

// Mutex returns a [Locker] for the common shape of a lock: one function that waits until the
// process holds the lock, and one that releases it. Functions that take a context get that of the
// attempt. The hold says neither its znode nor a token nor its loss; a lock that has these returns
// a [Hold] of its own.
func Mutex[F func() | func() error | func(context.Context) error](lock, unlock F) Locker {
	take, release := withContext(lock), withContext(unlock)
	return LockerFunc(func(ctx context.Context) (*Hold, error) {
		if err := take(ctx); err != nil {
			return nil, err
		}
		return Held(release, nil), nil
	})
}

// RWMutex returns a [SharedLocker] for the common shape of a read-write lock: the functions that
// lock and unlock it for writing, as for [Mutex], and for reading.
func RWMutex[F func() | func() error | func(context.Context) error](lock, unlock, rlock,
	runlock F,
) SharedLocker {
	return rwMutex{Mutex(lock, unlock), Mutex(rlock, runlock)}
}

type rwMutex struct {
	Locker

	reader Locker
}

func (l rwMutex) LockShared(ctx context.Context) (*Hold, error) { return l.reader.Lock(ctx) }

// withContext returns the function in the form that a [Hold] wants.
func withContext(f any) func(context.Context) error {
	switch f := f.(type) {
	case func():
		return func(context.Context) error { f(); return nil }
	case func() error:
		return func(context.Context) error { return f() }
	}
	return f.(func(context.Context) error)
}
