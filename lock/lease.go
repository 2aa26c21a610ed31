package lock

import (
	"context"
	"fmt"
	"sync"
)

// A Lease is a lock that is held. Its methods may be called by any number of goroutines.
type Lease struct {
	tenure *tenure
	shared bool // guarded by the grant's mutex

	ctx    context.Context // ends with the lease, its cause says how
	cancel context.CancelCauseFunc

	leaving      sync.Once
	last         bool // no lease of the owner was left after this one; good once leaving is done
	wasExclusive bool // it was exclusive; likewise
}

// Done returns a channel that is closed when the lease has ended, because it was lost or unlocked.
// Whoever works under the lock should stop then. Done and Err go by the clock as well: a process
// that was paused, and calls one of them first thing after that, is told if the lease has run out
// meanwhile.
func (l *Lease) Done() <-chan struct{} {
	l.tenure.checkExpired()
	return l.ctx.Done()
}

// Context returns a context that ends with the lease or with its parent, whichever ends first.
// [context.Cause] says which: after a loss it returns an error that wraps [ErrLost], after Unlock
// one that wraps [ErrNotHeld]. It can end a moment after the channel of Done is closed. It holds on
// to nothing once the lease has ended.
func (l *Lease) Context(parent context.Context) context.Context {
	l.tenure.checkExpired()
	ctx, cancel := context.WithCancelCause(parent)
	stop := context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })
	context.AfterFunc(ctx, func() { stop() })
	return ctx
}

// Err returns nil while the lease stands or after it was unlocked in time, and why it was lost
// otherwise: an error that wraps [ErrLost].
func (l *Lease) Err() error {
	l.tenure.checkExpired()
	if err := context.Cause(l.ctx); err != errUnlocked {
		return err
	}
	return nil
}

// Token returns the fencing token. Tokens follow the order of the queue: an exclusive lease has a
// higher token than all leases on the same path that were granted before it, and a lower one than
// all that are granted after it, also where the directory is removed and made again, and where
// sequence numbers have come to their end. (Readers that read together, and the places of a
// semaphore, may be granted in another order than that of their tokens.) A resource that remembers
// the highest token that it has seen, and refuses lower ones, is safe even from a holder that does
// not know yet that it has lost the lock. Leases of one owner that are held at the same time have
// the same token.
//
// The token is the id of the transaction that made the lock's directory, plus one, plus the
// sequence number of the contender's node; or the id of the transaction that made the node, where
// sequence numbers do not tell the order. That it rises across directories rests on each child's
// having been made by a transaction of its own: so nobody should make many children of a lock's
// directory in one multi.
func (l *Lease) Token() int64 { return l.tenure.token }

// Node returns the path of the contender's node. Leases of one owner that are held at the same time
// share it. Its data are the lock's own: not even the holder may change them, as whoever waits
// behind a [Mutex] takes that for the end of the lease.
func (l *Lease) Node() string { return l.tenure.node }

// Revoked returns a channel that is closed when somebody has asked for the lock back, with Revoke.
// The lease goes on; it is the holder's part to unlock soon.
func (l *Lease) Revoked() <-chan struct{} { return l.tenure.revoked }

// Unlock gives the lock back and waits until ZooKeeper has confirmed it. It returns an error that
// wraps [ErrLost] if the lease was lost before, or if that cannot be told because the session ended
// before an answer came, and the client's error if the node could not be removed because ZooKeeper
// refused that. When the context ends first it returns the context's cause, and the removal goes on
// in the background; with a context that does not end, it waits for as long as ZooKeeper cannot be
// reached. After the client was closed it returns the error for that: see [Mutex.Lock] for when.
// Unlock may be called again: a lease counts once, and once the node is gone the result is always
// the same.
//
// Where the owner has further leases on the lock, the lock stays with it, and Unlock sends nothing.
// But if this was the last that was exclusive, and the others are shared, the lock becomes shared
// too, as by Downgrade.
func (l *Lease) Unlock(ctx context.Context) error {
	l.tenure.checkExpired()
	l.cancel(errUnlocked)
	l.leaving.Do(func() { l.last, l.wasExclusive = l.tenure.leave(l) })
	if !l.last {
		if err := l.Err(); err != nil || !l.wasExclusive {
			return err
		}
		return l.awaitShared(ctx)
	}
	select {
	case <-l.tenure.contender.removed:
		return l.result()
	default:
	}
	select {
	case <-l.tenure.contender.removed:
		return l.result()
	case <-ctx.Done():
		return fmt.Errorf("lock: not yet unlocked, the removal of %s goes on: %w", l.Node(),
			context.Cause(ctx))
	}
}

// Downgrade turns an exclusive lease of an [RWMutex] into a shared one: other readers get in, and
// no writer comes between. The lease keeps its node, its token and its place. It costs one request
// and waits until ZooKeeper has confirmed it; when the context ends first it returns the context's
// cause, and the downgrade goes on in the background. It returns an error that wraps [ErrNotHeld]
// if the lease has ended, and the client's error where ZooKeeper refuses: then nobody else gets in.
// To downgrade a lease that is not exclusive does nothing.
func (l *Lease) Downgrade(ctx context.Context) error {
	if err := context.Cause(l.ctx); err != nil {
		return err
	}
	l.tenure.downgrade(l)
	return l.awaitShared(ctx)
}

func (l *Lease) awaitShared(ctx context.Context) error {
	if err := l.tenure.awaitShared(ctx); err != nil {
		return fmt.Errorf("lock: not yet shared: %w", err)
	}
	return nil
}

// result returns how the lease and its node ended.
func (l *Lease) result() error {
	if err := l.Err(); err != nil {
		return err
	}
	return l.tenure.contender.removalErr
}
