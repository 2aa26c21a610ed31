package lock

import (
	"context"
	"sync"
	"time"
)

// A tenure is the period in which a contender holds the lock. Its leases belong to one owner, and
// it ends with the last of them or when the lock is lost.
type tenure struct {
	contender *contender
	node      string
	token     int64
	session   int64  // to which the node belongs; 0 if unknown
	forget    func() // removes the lock from its owner

	ctx    context.Context // ends with the tenure; its cause is the reason
	cancel context.CancelCauseFunc

	mu              sync.Mutex
	validUntil      time.Time // when the last confirmation expires
	leases          int
	exclusiveLeases int
	revoked         chan struct{} // closed when Revoke was called
	revocationSeen  bool          // revoked is closed
	isShared        bool          // the node is marked as shared, or will be
	// closed when the node is marked or ZooKeeper has refused; nil unless it is a writer's
	marked  chan struct{}
	markErr error // the refusal, if any; valid once marked is closed
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

// enter returns a new lease, or errTenureEnded if the tenure has ended. A reader must not become a
// writer.
func (t *tenure) enter(shared bool) (*Lease, error) {
	t.checkExpired()
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

// leave ends a lease. It reports whether the lease was the last one, and whether it was exclusive.
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

// downgrade makes a lease shared.
func (t *tenure) downgrade(l *Lease) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.makeShared(l)
}

// makeShared makes a lease shared. When the last exclusive one does, other readers get in, unless
// the lock is a Mutex, which is shared only by the leases of one owner.
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

// awaitShared waits until the node is marked as shared, if a mark is pending.
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
	// Several may have been ready: a known outcome takes precedence.
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

// setMarked records that the node was marked, or why it was not.
func (t *tenure) setMarked(refusal error) {
	t.markErr = refusal
	close(t.marked)
}

// revoke records a call of Revoke, and reports whether that is new.
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

// extend postpones the expiry.
func (t *tenure) extend(until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.validUntil = until
}

// checkExpired ends the tenure if its time is over, or its session as far as the client knows. A
// timer also enforces the former, but may not have fired yet if the process was paused. The client
// has another session, or none, only after it has learned that this one is over.
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

// end ends the tenure. Only the first call has an effect.
func (t *tenure) end(err error) { t.cancel(err) }

// loss returns why the lock was lost, or nil if it was not.
func (t *tenure) loss() error {
	if err := context.Cause(t.ctx); err != errUnlocked {
		return err
	}
	return nil
}
