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

	mu      sync.Mutex
	until   time.Time // when the last confirmation is worth nothing any more
	leases  int
	writers int           // leases that are exclusive
	open    int           // guarded writes that may still be carried out
	revoked chan struct{} // closed when others have asked for the lock
	asked   bool          // that was done
	reading bool          // the node is marked as shared, or is being marked
	marked  chan struct{} // closed when that was done, or was refused; nil unless it is a writer's
	refusal error         // then
}

func newTenure(c *contender, token int64) *tenure {
	ctx, cancel := context.WithCancelCause(context.Background())
	g := &tenure{
		contender: c, node: c.node, token: token, session: c.owner, forget: func() {}, ctx: ctx,
		cancel:  cancel,
		revoked: make(chan struct{}), reading: !c.rule.kind.alone(),
	}
	if c.rule.kind == writer {
		g.marked = make(chan struct{})
	}
	return g
}

// enter returns a lease on the grant, or errEnded if the grant has ended. A reader must not become
// a writer.
func (g *tenure) enter(shared bool) (*Lease, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx.Err() != nil && g.leases > 0 || g.contender.wanted() != nil {
		return nil, errEnded
	}
	if !shared && g.reading {
		return nil, ErrUpgrade
	}
	g.leases++
	if !shared {
		g.writers++
	}
	ctx, cancel := context.WithCancelCause(g.ctx)
	return &Lease{tenure: g, shared: shared, ctx: ctx, cancel: cancel}, nil
}

// leave ends a lease's part in the grant. It tells whether the lease was the last, and whether it
// was exclusive.
func (g *tenure) leave(l *Lease) (last, wrote bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leases--
	wrote = !l.shared
	if g.leases == 0 {
		g.forget()
		g.cancel(errUnlocked)
		g.contender.dismiss(errUnlocked)
		return true, wrote
	}
	g.read(l)
	return false, wrote
}

// beginWrite takes note of a guarded write, or returns why the lease has ended.
func (g *tenure) beginWrite(l *Lease) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := context.Cause(l.ctx); err != nil {
		return err
	}
	g.open++
	return nil
}

// endWrite takes note that a guarded write was carried out, or never will be.
func (g *tenure) endWrite() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open--
}

// writes tells whether guarded writes may still be carried out.
func (g *tenure) writes() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open > 0
}

// demote makes a lease a shared one.
func (g *tenure) demote(l *Lease) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.read(l)
}

// read takes note that a lease is exclusive no longer. The last to be so lets other readers in,
// unless the lock is a Mutex: that is shared by nobody but those who have its owner.
func (g *tenure) read(l *Lease) {
	if l.shared {
		return
	}
	l.shared = true
	g.writers--
	if g.writers == 0 && g.contender.rule.kind == writer {
		g.reading = true
		g.contender.demote()
	}
}

// awaitMark waits until the node is marked as shared, if it is to be.
func (g *tenure) awaitMark(ctx context.Context) error {
	g.mu.Lock()
	pending := g.reading && g.contender.rule.kind == writer
	g.mu.Unlock()
	if !pending {
		return nil
	}
	select {
	case <-g.marked:
		return g.refusal
	case <-g.ctx.Done():
	case <-ctx.Done():
	}
	// Several may have been ready: what is certain goes before the rest.
	select {
	case <-g.marked:
		return g.refusal
	default:
	}
	if g.ctx.Err() != nil {
		return g.loss()
	}
	return context.Cause(ctx)
}

// shared says that the node has been marked, or why it has not.
func (g *tenure) shared(refusal error) {
	g.refusal = refusal
	close(g.marked)
}

// revoke says that others have asked for the lock. It tells whether that is news.
func (g *tenure) revoke() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.asked {
		return false
	}
	g.asked = true
	close(g.revoked)
	return true
}

// extend puts off when the grant ends by the clock.
func (g *tenure) extend(until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.until = until
}

// look ends the grant if its time is over, or its session as the client knows. A timer does the
// former too, but where the process was paused it may not have fired yet. The client has another
// session, or none, only once it was told that this one is over.
func (g *tenure) look() {
	g.mu.Lock()
	over := !time.Now().Before(g.until)
	g.mu.Unlock()
	switch {
	case g.session != 0 && g.session != g.contender.client.SessionID():
		g.end(errSessionOver)
	case over:
		g.end(errUnconfirmed)
	}
}

// end ends the grant. Only the first call counts.
func (g *tenure) end(err error) { g.cancel(err) }

// loss returns why the lock was lost, nil if it was not.
func (g *tenure) loss() error {
	if err := context.Cause(g.ctx); err != errUnlocked {
		return err
	}
	return nil
}
