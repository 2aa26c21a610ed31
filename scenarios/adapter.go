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
		return &Hold{Unlock: release}, nil
	})
}

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
