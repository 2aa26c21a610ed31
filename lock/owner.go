package lock

import (
	"context"
	"sync"
)

// An owner holds locks across calls, on behalf of a context.
type owner struct {
	mu           sync.Mutex
	acquisitions map[lockKey]*acquisition
}

// A lockKey identifies a lock: two handles on the same path and session are the same lock.
type lockKey struct {
	session *Session
	path    string
}

// An acquisition is an owner's part in a queue: it waits there or holds the lock.
type acquisition struct {
	ready  chan struct{} // closed when the attempt has succeeded or failed
	tenure *tenure       // nil if the attempt failed; valid once ready is closed
}

type ownerKey struct{}

// WithOwner returns a context that identifies an owner of locks, a new one with each call. A lock
// taken with this context or one derived from it can be taken again by the same owner without
// waiting, even through another handle on the same path and session. It is free once each of the
// leases is unlocked.
//
// This makes [Mutex] and [RWMutex] reentrant. An owner that writes may also read, but not the other
// way round: see [ErrUpgrade]. A [Semaphore] grants a new place to each call.
//
// All goroutines that use the context share its locks. Goroutines have no identity, and a context
// without an owner shares with nobody.
func WithOwner(ctx context.Context) context.Context {
	return context.WithValue(ctx, ownerKey{}, &owner{acquisitions: make(map[lockKey]*acquisition)})
}

func ownerOf(ctx context.Context) *owner {
	o, _ := ctx.Value(ownerKey{}).(*owner)
	return o
}

// lock takes a lock that the owner may hold already. One goroutine of the owner at a time queues;
// the others wait for its outcome, and the next one queues if it gives up.
func (o *owner) lock(ctx context.Context, q *queue, r rule) (*Lease, error) {
	key := lockKey{q.session, q.path}
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

// acquireFirst takes a lock in which the owner has no part yet.
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

// await waits for the outcome of another goroutine's attempt.
func (a *acquisition) await(ctx context.Context, try bool) error {
	if !try {
		select {
		case <-a.ready:
		case <-ctx.Done():
		}
	}
	select {
	case <-a.ready: // Both may have been ready: a known outcome takes precedence.
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
