package lock

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
)

// A leaseKeeper confirms and watches the node of a contender that holds the lock.
type leaseKeeper struct {
	*contender
	tenure *tenure

	// fires when the directory's data change; nil while they are not watched
	directoryWatch <-chan zk.Event
	version        int32 // last version of those data

	downgraded  <-chan struct{} // nil once it was closed
	downgrading bool            // the node must be marked as shared

	deadline time.Time   // when the last confirmation expires
	expiry   *time.Timer // ends the tenure at the deadline; nil before the first request
	timer    *time.Timer // for the next confirmation
}

// newLeaseKeeper grants the lock, for as long as the session is proved to be alive.
func (c *contender) newLeaseKeeper() *leaseKeeper {
	k := &leaseKeeper{
		contender: c, tenure: newTenure(c, c.token), downgraded: c.downgraded,
		deadline: c.provenAt().Add(c.validity),
	}
	k.tenure.extend(k.deadline)
	return k
}

// confirmKeeper makes certain that the node exists and that its session is alive, and grants the
// lock to a contender that has nobody before it.
func (c *contender) confirmKeeper() (*leaseKeeper, error) {
	c.noteBlocked(false)
	if c.session.settling() { // Requests could not lead to a grant.
		return nil, errSlowConnection
	}
	confirm := c.confirmNode
	if !c.alive() {
		confirm = func() error { return c.prove() }
	}
	connected, began := c.isConnected(), time.Now()
	if err := confirm(); err != nil {
		return nil, err
	}
	proven := c.provenAt()
	switch {
	case c.session.proof.unstable():
		return nil, errSlowConnection
	case time.Since(proven) < c.validity*2/3:
		return c.newLeaseKeeper(), nil
	case !connected: // The requests have waited for a connection.
		began = time.Now()
	}
	return nil, c.late(began) // The lease would have expired already.
}

// prove makes ZooKeeper commit a check that the node exists, which succeeds only if its session is
// alive, as the second request of a pair: see [proof] and [commitNoop]. The caller may add checks,
// and prove returns zk.ErrBadVersion if one of them fails.
func (c *contender) prove(more ...any) error {
	if err := c.precede(); err != nil {
		return err
	}
	if c.owner == 0 || c.owner != c.client.SessionID() {
		// The node may belong to a newer session than the one known.
		if err := c.verifyAndWatch(); err != nil {
			return err
		}
	}
	err := c.multi(append([]any{&zk.CheckVersionRequest{Path: c.node, Version: -1}}, more...)...)
	switch {
	case isNoNode(err):
		return errNodeLost
	case err == nil && c.owner != c.client.SessionID():
		return errNodeLost
	}
	return err
}

// confirmNode verifies that the node exists and belongs to the current session, and that it is
// watched.
func (c *contender) confirmNode() error {
	if c.ownWatch == nil {
		return c.verifyAndWatch()
	}
	_, err := c.verifyNode()
	return err
}

// confirmations is the minimum number of confirmations of a held lock per session timeout.
const confirmations = 6

// keep confirms the lock until it is unlocked or lost. Every confirmation postpones the expiry.
func (k *leaseKeeper) keep() {
	defer k.session.unregister(k.tenure)
	if k.checkCancelled() != nil {
		return
	}
	defer k.stopExpiry()
	defer k.putWatch()
	k.timer = time.NewTimer(k.confirmDelay())
	defer k.timer.Stop()
	for {
		select {
		case <-k.cancelled:
		case <-k.tenure.ctx.Done():
		case <-k.downgraded:
			k.beginDowngrade()
		case <-k.ownWatch:
			k.ownWatch = nil
		case <-k.directoryWatch:
			k.directoryWatch = nil
		case <-k.session.ended:
		case <-k.timer.C:
		}
		k.drainEvents()
		if k.session.isClosed() {
			k.tenure.end(errClosed)
		}
		k.tenure.checkExpired()
		// Several channels may have been ready: the end takes precedence.
		if k.checkCancelled() != nil || k.tenure.ctx.Err() != nil || !k.confirm() {
			return
		}
	}
}

// beginDowngrade makes the next request mark the node as shared.
func (k *leaseKeeper) beginDowngrade() {
	k.downgraded, k.downgrading = nil, true
	k.observe(Event{Kind: Downgraded, Token: k.tenure.token})
}

// drainEvents handles all pending events, so that their order does not matter.
func (k *leaseKeeper) drainEvents() {
	select {
	case <-k.downgraded:
		k.beginDowngrade()
	default:
	}
	select {
	case <-k.ownWatch:
		k.ownWatch = nil
	default:
	}
	select {
	case <-k.directoryWatch:
		k.directoryWatch = nil
	default:
	}
}

// confirmDelay returns the delay before the next request. A lock that is held only briefly needs no
// watch. Contenders that were granted a lock together must not confirm together, so each takes up
// to a tenth off.
func (k *leaseKeeper) confirmDelay() time.Duration {
	delay := k.timeout / confirmations
	if k.ownWatch == nil || k.directoryWatch == nil && k.rule.kind != party {
		delay = k.timeout / recentPart
	}
	delay = k.session.proof.delay(k.deadline, delay)
	return delay - k.guid.spread(delay/10) // also of its least
}

// takeWatch reuses a watch on the directory that an earlier holder has left, if there is one. The
// next proof detects a revocation since.
func (k *leaseKeeper) takeWatch() bool {
	left, ok := k.idleWatches.take(k.path)
	k.directoryWatch, k.version = left.events, left.version
	return ok
}

// putWatch leaves the watch on the directory to the next holder.
func (k *leaseKeeper) putWatch() {
	if k.directoryWatch != nil {
		k.idleWatches.put(k.path, watch{events: k.directoryWatch, version: k.version})
	}
}

func (k *leaseKeeper) stopExpiry() {
	if k.expiry != nil {
		k.expiry.Stop()
	}
}

// confirm asks ZooKeeper to confirm the lock and reports whether it is still held.
func (k *leaseKeeper) confirm() bool {
	if !time.Now().Before(k.deadline) {
		k.tenure.end(errUnconfirmed) // The two timers may fire at the same instant.
		return false
	}
	if k.expiry == nil { // From now on a request may never be answered.
		k.expiry = time.AfterFunc(time.Until(k.deadline), func() { k.tenure.end(errUnconfirmed) })
	}
	err := k.sendRequests()
	k.tenure.checkExpired()
	switch {
	case k.tenure.ctx.Err() != nil:
		return false
	case err == errNodeLost:
		k.tenure.end(errNodeGone)
		return false
	case refused(err):
		k.tenure.end(fmt.Errorf("%w: its node can not be confirmed: %w", ErrLost, err))
		return false
	case err != nil:
		k.observe(Event{Kind: Retried, Err: err})
		k.timer.Reset(retryDelay + k.guid.spread(retryDelay*2/3))
	default:
		k.deadline = k.provenAt().Add(k.validity)
		k.tenure.extend(k.deadline)
		k.expiry.Reset(time.Until(k.deadline))
		k.timer.Reset(k.confirmDelay())
	}
	return true
}

// sendRequests sends the requests that are due.
func (k *leaseKeeper) sendRequests() error {
	if k.downgrading {
		return k.markShared()
	}
	slow := k.session.proof.slowTrip() > 0
	if k.ownWatch == nil && !slow { // The writes of a chain check the node, almost as soon.
		if err := k.verifyAndWatch(); err != nil {
			return err
		}
	}
	if k.rule.kind == party { // The directory's data are rounds.
		return k.prove()
	}
	if k.directoryWatch == nil && !k.takeWatch() {
		if slow {
			return k.proveAndReadRevocation()
		}
		if err := k.readRevocation(); err != nil {
			return err
		}
	}
	for {
		err := k.prove(&zk.CheckVersionRequest{Path: k.path, Version: k.version})
		if !errors.Is(err, zk.ErrBadVersion) {
			return err
		}
		// The watch has missed a change: go-zookeeper/zk can lose such events over a reconnect.
		if err := k.readRevocation(); err != nil {
			return err
		}
	}
}

// proveAndReadRevocation sends both requests without waiting in between: one round trip.
func (k *leaseKeeper) proveAndReadRevocation() error {
	answer := make(chan reading, 1)
	go func() {
		defer close(answer) // even if the client ends the goroutine
		answer <- k.readDirectory()
	}()
	err := k.prove()
	if r, ok := <-answer; ok {
		err = cmp.Or(err, k.noteRevocation(r))
	}
	return err
}

// markShared marks the node of an exclusive lock as shared. The change wakes the readers behind it.
func (k *leaseKeeper) markShared() error {
	var stat *zk.Stat
	err := k.write(func() (err error) {
		stat, err = k.client.Set(k.node, record{Metadata: k.metadata, Shared: true}.encode(), -1)
		return err
	})
	switch {
	case isNoNode(err):
		return errNodeLost
	case refused(err):
		k.downgrading = false
		k.tenure.setMarked(err)
		return nil
	case err != nil:
		return err
	case stat.EphemeralOwner != k.client.SessionID():
		return errNodeLost
	}
	k.downgrading = false
	// The watch has reported this change by now. To handle it only after the caller continues would
	// be a race with what the caller does next.
	k.drainEvents()
	k.tenure.setMarked(nil)
	return nil
}

// readRevocation reads and watches the directory's data.
func (k *leaseKeeper) readRevocation() error { return k.noteRevocation(k.readDirectory()) }

// A reading is the reply to a read of the directory that watches it.
type reading struct {
	data   []byte
	stat   *zk.Stat
	events <-chan zk.Event
	err    error
}

func (k *leaseKeeper) readDirectory() (r reading) {
	r.data, r.stat, r.events, r.err = k.client.GetW(k.path)
	return r
}

// noteRevocation tells the holder if the directory's data revoke its lease.
func (k *leaseKeeper) noteRevocation(r reading) error {
	if r.err != nil {
		return r.err
	}
	k.directoryWatch, k.version = r.events, r.stat.Version
	requested, _ := readRevocation(r.data) // Foreign data revoke nothing.
	if slices.ContainsFunc(requested.Revoked,
		func(name string) bool { return k.at(name) == k.node }) &&
		k.tenure.revoke() {
		k.observe(Event{Kind: Revoked, Token: k.tenure.token})
	}
	return nil
}
