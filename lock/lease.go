package lock

import (
	"context"
	"fmt"
	"sync"
)

// A Lease is a held lock. Its methods may be called concurrently.
type Lease struct {
	tenure *tenure
	shared bool // guarded by the tenure's mutex

	ctx    context.Context // ends with the lease; its cause is the reason
	cancel context.CancelCauseFunc

	leaving      sync.Once
	last         bool // the owner has no other lease left; valid once leaving is done
	wasExclusive bool // the lease was exclusive; valid once leaving is done
}

// Done returns a channel that is closed when the lease has ended, by loss or by Unlock. Work under
// the lock should stop then. Done and Err also check the clock: if a process calls one of them
// first after a pause, it learns whether the lease has expired during the pause. After a loss, the
// lock removes the node by itself; Unlock is not needed.
func (l *Lease) Done() <-chan struct{} {
	l.tenure.checkExpired()
	return l.ctx.Done()
}

// Context returns a context that ends with the lease or with its parent, whichever ends first.
// [context.Cause] tells them apart: after a loss it returns an error that wraps [ErrLost], after
// Unlock one that wraps [ErrNotHeld]. The context can end a moment after the channel of Done is
// closed. It retains no resources once the lease has ended.
func (l *Lease) Context(parent context.Context) context.Context {
	l.tenure.checkExpired()
	ctx, cancel := context.WithCancelCause(context.WithValue(parent, parentKey{l}, parent))
	stop := context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })
	context.AfterFunc(ctx, func() { stop() })
	return ctx
}

// A parentKey is the key of the parent of a context of the lease.
type parentKey struct{ lease *Lease }

// Err returns an error that wraps [ErrLost] and gives the reason if the lease was lost. It returns
// nil while the lease is valid and after it was unlocked in time.
func (l *Lease) Err() error {
	l.tenure.checkExpired()
	if err := context.Cause(l.ctx); err != errUnlocked {
		return err
	}
	return nil
}

// Token returns the fencing token. An exclusive lease has a higher token than every lease on the
// same path that was granted before it, and a lower one than every lease granted after it, even if
// the directory is removed and created again or sequence numbers have reached their maximum.
// Concurrent readers, and holders of a semaphore's places, may be granted in another order than
// that of their tokens. Leases that one owner holds at the same time have the same token.
//
// A resource that stores the highest token seen, and refuses lower ones, is safe even from a holder
// that has not yet learned of its loss. It refuses those only once it has seen a higher token: a
// holder that writes what depends on a read must let the resource store its token before it reads.
// Tokens order leases on one path of one ensemble. After an ensemble was replaced or restored from
// a backup, they may be lower than those that resources have stored.
//
// The token is the id of the transaction (zxid) that created the lock's directory, plus one, plus
// the sequence number of the contender's node; or the zxid that created the node, if sequence
// numbers do not give the order. Tokens increase across directories only if each child was created
// by a transaction of its own: do not create many children of a lock's directory in one multi.
func (l *Lease) Token() int64 { return l.tenure.token }

// Node returns the path of the contender's node. Leases that one owner holds at the same time share
// it. Its data belong to the lock: not even the holder may change them, since the next contender of
// a [Mutex] takes a change for the end of the lease.
func (l *Lease) Node() string { return l.tenure.node }

// Revoked returns a channel that is closed when Revoke is called on the lock. The lease remains
// valid, and the holder is expected to unlock soon.
func (l *Lease) Revoked() <-chan struct{} { return l.tenure.revoked }

// Unlock releases the lock and waits until ZooKeeper has confirmed it. It returns
//
//   - an error that wraps [ErrLost] if the lease was lost before, or if that is unknown because the
//     session ended before an answer arrived;
//   - the client's error if ZooKeeper refused to remove the node;
//   - the context's cause when the context ends first; the removal then continues in the
//     background. A context of the lease does not end first by Unlock itself, which then waits with
//     the parent and up to the deadline: it does not see a later cancel of a context between;
//   - an error after the client is closed.
//
// With a context that does not end, Unlock waits while ZooKeeper is unreachable. Unlock may be
// called again: a lease is released once, and the result no longer changes once the node is gone.
//
// If the owner has further leases on the lock, it keeps the lock and Unlock sends nothing. If the
// last exclusive one of them is unlocked, the lock becomes shared, as by Downgrade.
func (l *Lease) Unlock(ctx context.Context) error {
	l.tenure.checkExpired()
	l.cancel(errUnlocked)
	l.leaving.Do(func() { l.last, l.wasExclusive = l.tenure.leave(l) })
	if !l.last {
		if err := l.Err(); err != nil || !l.wasExclusive {
			return err
		}
		return l.unlocking(ctx, l.awaitShared)
	}
	return l.unlocking(ctx, l.awaitRemoval)
}

// unlocking waits with the context. If that is one of the lease and has ended because the lease
// has, it waits on with its parent.
func (l *Lease) unlocking(ctx context.Context, wait func(context.Context) error) error {
	err := wait(ctx)
	parent, ok := ctx.Value(parentKey{l}).(context.Context)
	if err == nil || !ok || context.Cause(ctx) != errUnlocked {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		parent, cancel = context.WithDeadline(parent, deadline)
		defer cancel()
	}
	return l.unlocking(parent, wait)
}

func (l *Lease) awaitRemoval(ctx context.Context) error {
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

// Downgrade turns an exclusive lease of an [RWMutex] into a shared one. Other readers are then
// granted the lock, and no writer in between. The lease keeps its node, its token and its position.
// Downgrade has no effect on a shared lease or on a Mutex.
//
// Downgrade waits until ZooKeeper has confirmed it; when the context ends first it returns the
// context's cause, and the downgrade continues in the background. It returns an error that wraps
// [ErrNotHeld] if the lease has ended, and the client's error if ZooKeeper refuses, in which case
// no other reader is granted the lock. It costs one request.
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

// result returns the outcome of the lease and of its node's removal.
func (l *Lease) result() error {
	if err := l.Err(); err != nil {
		return err
	}
	return l.tenure.contender.removalErr
}
