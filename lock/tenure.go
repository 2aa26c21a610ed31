package lock

import (
	"context"
	"sync"
	"time"
)

// A tenure is the turn of a contender. The leases on it belong to one owner; it ends with the last
// of them, or when the lock is lost.
type tenure struct {
	contender *contender
	node      string
	token     int64
	session   int64  // to which the node belongs, 0 if that is not known
	forget    func() // tells the owner that it holds the lock no longer

	ctx    context.Context // ends with the grant, its cause says how
	cancel context.CancelCauseFunc

	mu              sync.Mutex
	validUntil      time.Time // when the last confirmation is worth nothing any more
	leases          int
	exclusiveLeases int           // leases that are exclusive
	pendingWrites   int           // guarded writes that may still be carried out
	revoked         chan struct{} // closed when others have asked for the lock
	revocationSeen  bool          // that was done
	isShared        bool          // the node is marked as shared, or is being marked
	// closed when that was done, or was refused; nil unless it is a writer's
	marked  chan struct{}
	markErr error // then
}

func newTenure(c *contender, token int64) *tenure {
	ctx, cancel := context.WithCancelCause(context.Background())
	t := &tenure{
		contender: c, node: c.node, token: token, session: c.owner, forget: func() {}, ctx: ctx,
		cancel:  cancel,
		revoked: make(chan struct{}), isShared: !c.rule.kind.isExclusive(),
	}
	if c.rule.kind == writer {
		t.marked = make(chan struct{})
	}
	return t
}

// enter returns a lease on the grant, or errEnded if the grant has ended. A reader must not become
// a writer.
func (t *tenure) enter(shared bool) (*Lease, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx.Err() != nil && t.leases > 0 || t.contender.checkCancelled() != nil {
		return nil, errTenureEnded
	}
	if !shared && t.isShared {
		return nil, ErrUpgrade
	}
	t.leases++
	if !shared {
		t.exclusiveLeases++
	}
	ctx, cancel := context.WithCancelCause(t.ctx)
	return &Lease{tenure: t, shared: shared, ctx: ctx, cancel: cancel}, nil
}

// leave ends a lease's part in the grant. It tells whether the lease was the last, and whether it
// was exclusive.
func (t *tenure) leave(l *Lease) (last, wasExclusive bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leases--
	wasExclusive = !l.shared
	if t.leases == 0 {
		t.forget()
		t.cancel(errUnlocked)
		t.contender.cancel(errUnlocked)
		return true, wasExclusive
	}
	t.makeShared(l)
	return false, wasExclusive
}

// beginWrite takes note of a guarded write, or returns why the lease has ended.
func (t *tenure) beginWrite(l *Lease) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := context.Cause(l.ctx); err != nil {
		return err
	}
	t.pendingWrites++
	return nil
}

// endWrite takes note that a guarded write was carried out, or never will be.
func (t *tenure) endWrite() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pendingWrites--
}

// hasPendingWrites tells whether guarded hasPendingWrites may still be carried out.
func (t *tenure) hasPendingWrites() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pendingWrites > 0
}

// downgrade makes a lease a shared one.
func (t *tenure) downgrade(l *Lease) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.makeShared(l)
}

// makeShared takes note that a lease is exclusive no longer. The last to be so lets other readers
// in, unless the lock is a Mutex: that is shared by nobody but those who have its owner.
func (t *tenure) makeShared(l *Lease) {
	if l.shared {
		return
	}
	l.shared = true
	t.exclusiveLeases--
	if t.exclusiveLeases == 0 && t.contender.rule.kind == writer {
		t.isShared = true
		t.contender.downgrade()
	}
}

// awaitShared waits until the node is marked as shared, if it is to be.
func (t *tenure) awaitShared(ctx context.Context) error {
	t.mu.Lock()
	pending := t.isShared && t.contender.rule.kind == writer
	t.mu.Unlock()
	if !pending {
		return nil
	}
	select {
	case <-t.marked:
		return t.markErr
	case <-t.ctx.Done():
	case <-ctx.Done():
	}
	// Several may have been ready: what is certain goes before the rest.
	select {
	case <-t.marked:
		return t.markErr
	default:
	}
	if t.ctx.Err() != nil {
		return t.loss()
	}
	return context.Cause(ctx)
}

// setMarked says that the node has been marked, or why it has not.
func (t *tenure) setMarked(refusal error) {
	t.markErr = refusal
	close(t.marked)
}

// revoke says that others have asked for the lock. It tells whether that is news.
func (t *tenure) revoke() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.revocationSeen {
		return false
	}
	t.revocationSeen = true
	close(t.revoked)
	return true
}

// extend puts off when the grant ends by the clock.
func (t *tenure) extend(until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.validUntil = until
}

// checkExpired ends the grant if its time is over, or its session as the client knows. A timer does
// the former too, but where the process was paused it may not have fired yet. The client has
// another session, or none, only once it was told that this one is over.
func (t *tenure) checkExpired() {
	t.mu.Lock()
	over := !time.Now().Before(t.validUntil)
	t.mu.Unlock()
	switch {
	case t.session != 0 && t.session != t.contender.client.SessionID():
		t.end(errSessionOver)
	case over:
		t.end(errUnconfirmed)
	}
}

// end ends the grant. Only the first call counts.
func (t *tenure) end(err error) { t.cancel(err) }

// loss returns why the lock was lost, nil if it was not.
func (t *tenure) loss() error {
	if err := context.Cause(t.ctx); err != errUnlocked {
		return err
	}
	return nil
}
