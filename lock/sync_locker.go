package lock

import (
	"context"
	"slices"
	"sync"
)

// SyncLocker returns the lock as a [sync.Locker], for code that takes one. Its methods have no
// error to return: if Lock or Unlock fails, or the lock was lost before Unlock, they panic with the
// error. Do tells the holder of a loss in time, and is preferable. The context bounds each call. Of
// several readers, or holders of a semaphore, the first to unlock learns that a lease was lost,
// even if it was that of another.
func SyncLocker(ctx context.Context, l Locker) sync.Locker {
	return &syncLocker{ctx: ctx, lock: l}
}

type syncLocker struct {
	ctx  context.Context
	lock Locker

	mu     sync.Mutex
	leases []*Lease // of the present holders: several for a semaphore and for readers
}

func (l *syncLocker) Lock() {
	lease, err := l.lock.Lock(l.ctx)
	if err != nil {
		panic(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leases = append(l.leases, lease)
}

func (l *syncLocker) Unlock() {
	if err := l.pop().Unlock(l.ctx); err != nil {
		panic(err)
	}
}

// pop removes a lease, one that was lost if there is one: the others still protect their holders.
func (l *syncLocker) pop() *Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.leases) == 0 {
		panic(ErrNotHeld)
	}
	i := max(0, slices.IndexFunc(l.leases, func(one *Lease) bool { return one.Err() != nil }))
	lease := l.leases[i]
	l.leases = slices.Delete(l.leases, i, i+1)
	return lease
}
