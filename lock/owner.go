package lock

import (
	"context"
	"sync"
)

// An owner is on whose behalf locks are taken, and what it holds.
type owner struct {
	mu           sync.Mutex
	acquisitions map[lockKey]*acquisition
}

// A lockKey tells locks apart: two handles on the same path through the same client are the same
// lock.
type lockKey struct {
	connection any
	path       string
}

// A acquisition is what an owner has in a queue: it waits there, or it holds the lock.
type acquisition struct {
	ready  chan struct{} // closed when the contender has had its turn, or has given up
	tenure *tenure       // nil if it has given up; good once ready is closed
}

type ownerKey struct{}

// WithOwner returns a context that stands for an owner of locks, a new one with each call. Whoever
// takes a lock with such a context, or one derived from it, takes it again without waiting where
// that owner holds it, even through another handle on the same path and client; the lock is free
// when each of the leases was unlocked. This makes [Mutex] and [RWMutex] reentrant; an owner that
// writes may read too, but not the other way round: see [ErrUpgrade]. A [Semaphore] gives out a
// place each time.
//
// An owner is whatever passes the context on, be it one goroutine or many: they share the lock.
// Goroutines have no identity here, and a context without an owner shares with nobody.
func WithOwner(ctx context.Context) context.Context {
	return context.WithValue(ctx, ownerKey{}, &owner{acquisitions: make(map[lockKey]*acquisition)})
}

func ownerOf(ctx context.Context) *owner {
	o, _ := ctx.Value(ownerKey{}).(*owner)
	return o
}

// lock takes a lock that the owner may hold already. One of its goroutines at a time stands in the
// queue; the others wait for how that goes, and the next takes its place if it gives up.
func (o *owner) lock(ctx context.Context, q *queue, r rule) (*Lease, error) {
	key := lockKey{q.identity, q.path}
	for {
		o.mu.Lock()
		a := o.acquisitions[key]
		if a == nil {
			a = &acquisition{ready: make(chan struct{})}
			o.acquisitions[key] = a
			o.mu.Unlock()
			return o.acquireFirst(ctx, key, a, q, r)
		}
		o.mu.Unlock()
		if err := a.await(ctx, r.try); err != nil {
			return nil, err
		}
		if a.tenure != nil {
			lease, err := a.tenure.enter(!r.kind.isExclusive())
			if err != errTenureEnded {
				return lease, err
			}
		}
		o.forget(key, a)
	}
}

// acquireFirst takes the lock when the owner has no part in it yet.
func (o *owner) acquireFirst(ctx context.Context, key lockKey, a *acquisition, q *queue,
	r rule) (*Lease,
	error,
) {
	defer close(a.ready)
	t, err := q.contend(ctx, r)
	if err != nil {
		o.forget(key, a)
		return nil, err
	}
	t.forget = func() { o.forget(key, a) }
	lease, err := t.enter(!r.kind.isExclusive())
	a.tenure = t
	return lease, err
}

// await waits until it is known how the attempt of another goroutine of the owner ended.
func (a *acquisition) await(ctx context.Context, try bool) error {
	if !try {
		select {
		case <-a.ready:
		case <-ctx.Done():
		}
	}
	select {
	case <-a.ready: // Both may have been ready: what is certain goes before the rest.
		return nil
	default:
	}
	if try {
		return ErrNotAcquired
	}
	return context.Cause(ctx)
}

func (o *owner) forget(key lockKey, a *acquisition) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.acquisitions[key] == a {
		delete(o.acquisitions, key)
	}
}
