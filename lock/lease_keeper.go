package lock

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
)

// A leaseKeeper is the watch that a contender keeps over its node while it holds the lock.
type leaseKeeper struct {
	*contender
	tenure *tenure

	// that the directory's data were changed; nil while they are not watched
	directoryWatch <-chan zk.Event
	version        int32 // of those data, as last seen

	downgraded  <-chan struct{} // nil once it was closed
	downgrading bool            // the node is to be marked as shared

	interval time.Duration // between two confirmations
	deadline time.Time     // when the last confirmation is worth nothing any more
	expiry   *time.Timer   // ends the grant then; nil before the first confirmation
	timer    *time.Timer   // for the next confirmation
}

// newLeaseKeeper grants the lock. The confirmation that it begins with counts from the moment in
// which the request was sent: the server heard of the session no earlier.
func (c *contender) newLeaseKeeper(confirmed time.Time) *leaseKeeper {
	k := &leaseKeeper{
		contender: c, tenure: newTenure(c, c.token), downgraded: c.downgraded,
		deadline: confirmed.Add(c.validity),
		// Those that were granted together shall not ask together ever after.
		interval: c.timeout/confirmations - min(c.retryAfter-retryDelay, c.timeout/confirmations/2),
	}
	k.tenure.extend(k.deadline)
	return k
}

// confirmKeeper verifies that the contender's own node stands and belongs to the current session,
// and grants the lock.
func (c *contender) confirmKeeper() (*leaseKeeper, error) {
	confirmed, confirm := c.createdAt, c.confirmNode
	if !c.alive() {
		confirmed, confirm = time.Now(), func() error { return c.prove() }
	}
	if err := confirm(); err != nil {
		return nil, err
	}
	if time.Since(confirmed) >= c.validity {
		return nil, errRestart // The answer took so long that the lease would be lost at once.
	}
	return c.newLeaseKeeper(confirmed), nil
}

// prove has ZooKeeper agree that the node stands and that the session to which it belongs lives:
// see [agree]. It may ask for more to be so, and returns zk.ErrBadVersion where that is not.
func (c *contender) prove(more ...any) error {
	client, ok := c.client.(multiClient)
	if !ok {
		if err := c.sync(); err != nil {
			return err
		}
		return c.confirmNode()
	}
	if c.owner == 0 || c.owner != c.client.SessionID() {
		// It may have been made in a session that is newer than was known.
		if err := c.verifyAndWatch(); err != nil {
			return err
		}
	}
	_, err := client.Multi(append([]any{&zk.CheckVersionRequest{Path: c.node, Version: -1}},
		more...)...)
	switch {
	case isNoNode(err):
		return errNodeLost
	case err == nil && c.owner != c.client.SessionID():
		return errNodeLost
	}
	return err
}

// confirmNode verifies that the node stands and belongs to the current session, and that it is
// watched.
func (c *contender) confirmNode() error {
	if c.ownWatch == nil {
		return c.verifyAndWatch()
	}
	_, err := c.verifyNode()
	return err
}

// A lock that is held is confirmed so many times in a session timeout, or up to twice as often.
const confirmations = 6

// watchAfter is which part of the session timeout a lock is held before its node is watched, if it
// is not yet. Locks that are held for a moment only need no watch.
const watchAfter = 20

// keep keeps watch until the lock is unlocked or lost. Every confirmation puts the expiry off.
func (k *leaseKeeper) keep() {
	if k.checkCancelled() != nil {
		return
	}
	defer k.stopExpiry()
	defer k.putWatch()
	if k.session != nil {
		k.session.register(k.tenure)
		defer k.session.unregister(k.tenure)
	}
	k.timer = time.NewTimer(min(k.confirmDelay(), time.Until(k.deadline)/2))
	defer k.timer.Stop()
	for {
		select {
		case <-k.cancelled:
		case <-k.tenure.ctx.Done():
		case <-k.downgraded:
			k.downgraded, k.downgrading = nil, true
		case event := <-k.ownWatch:
			k.handleEvent(&k.ownWatch, event)
		case event := <-k.directoryWatch:
			k.handleEvent(&k.directoryWatch, event)
		case <-k.closing:
			k.clientClosed = true
		case <-k.timer.C:
		}
		k.drainEvents()
		if k.clientClosed {
			k.tenure.end(errClosed)
		}
		k.tenure.checkExpired()
		// Several may have been ready: the end goes before the rest.
		if k.checkCancelled() != nil || k.tenure.ctx.Err() != nil || !k.confirm() {
			return
		}
	}
}

// handleEvent takes note of what a watch tells.
func (k *leaseKeeper) handleEvent(watch *<-chan zk.Event, event zk.Event) {
	*watch = nil
	k.clientClosed = k.clientClosed || event.Err == zk.ErrClosing
}

// withOwnWatch sends requests and listens to the watch on the node meanwhile: while the connection
// is down a request can wait for longer than the client takes to learn that the session is over.
// Any other news it leaves in the place of the watch.
func (k *leaseKeeper) withOwnWatch(requests func() error) error {
	own := k.ownWatch
	if own == nil {
		return requests()
	}
	answered, heard := make(chan struct{}), make(chan (<-chan zk.Event), 1)
	go func() {
		select {
		case event := <-own:
			k.tenure.checkExpired()
			kept := make(chan zk.Event, 1)
			kept <- event
			heard <- kept
		case <-answered:
			heard <- own
		}
	}()
	defer func() { // even where the client ends the goroutine
		close(answered)
		if left := <-heard; k.ownWatch == own {
			k.ownWatch = left
		}
	}()
	return requests()
}

// drainEvents takes note of what else has happened by now, so that it makes no difference which of
// several was heard first.
func (k *leaseKeeper) drainEvents() {
	select {
	case <-k.downgraded:
		k.downgraded, k.downgrading = nil, true
	default:
	}
	select {
	case event := <-k.ownWatch:
		k.handleEvent(&k.ownWatch, event)
	default:
	}
	select {
	case event := <-k.directoryWatch:
		k.handleEvent(&k.directoryWatch, event)
	default:
	}
	select {
	case <-k.closing:
		k.clientClosed = true
	default:
	}
}

// confirmDelay returns how long to wait before the next request.
func (k *leaseKeeper) confirmDelay() time.Duration {
	if k.ownWatch == nil {
		return k.timeout / watchAfter
	}
	return k.interval
}

// takeWatch goes on with a watch on the directory that an earlier holder has left, if there is one.
// Nobody has been asked for the lock since, or the proof that follows will tell.
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

// confirm asks ZooKeeper whether the lock is still held, and returns false if not.
func (k *leaseKeeper) confirm() bool {
	sentAt := time.Now()
	if !sentAt.Before(k.deadline) {
		k.tenure.end(errUnconfirmed) // The two timers may fire in the same instant.
		return false
	}
	if k.expiry == nil { // From now on requests are sent, and one may take for ever.
		k.expiry = time.AfterFunc(time.Until(k.deadline), func() { k.tenure.end(errUnconfirmed) })
	}
	err := k.withOwnWatch(k.sendRequests)
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
		k.timer.Reset(k.retryAfter)
	default:
		k.deadline = sentAt.Add(k.validity)
		k.tenure.extend(k.deadline)
		k.expiry.Reset(time.Until(k.deadline))
		k.timer.Reset(k.confirmDelay())
	}
	return true
}

// sendRequests sends the request that is due.
func (k *leaseKeeper) sendRequests() error {
	if k.downgrading {
		return k.markShared()
	}
	if k.ownWatch == nil {
		if err := k.verifyAndWatch(); err != nil {
			return err
		}
	}
	if k.directoryWatch == nil && !k.takeWatch() {
		if err := k.readRevocation(); err != nil {
			return err
		}
	}
	for {
		err := k.prove(&zk.CheckVersionRequest{Path: k.path, Version: k.version})
		if !errors.Is(err, zk.ErrBadVersion) {
			return err
		}
		// The watch has not told of a change: go-zookeeper/zk can lose such news over a reconnect.
		if err := k.readRevocation(); err != nil {
			return err
		}
	}
}

// markShared marks the node of an exclusive lock as shared. Those behind that read are woken by the
// change.
func (k *leaseKeeper) markShared() error {
	stat, err := k.client.Set(k.node, record{Metadata: k.metadata, Shared: true}.encode(), -1)
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
	// The watch has told of this change by now. To hear of it only when the caller goes on would be
	// a race with what the caller does next.
	k.drainEvents()
	k.tenure.setMarked(nil)
	return nil
}

// readRevocation takes note of what stands in the directory, and watches it.
func (k *leaseKeeper) readRevocation() error {
	data, stat, events, err := k.client.GetW(k.path)
	if err != nil {
		return err
	}
	k.directoryWatch, k.version = events, stat.Version
	requested, _ := readRevocation(data) // What somebody else has put there asks nobody.
	if slices.ContainsFunc(requested.Revoked,
		func(name string) bool { return k.at(name) == k.node }) &&
		k.tenure.revoke() {
		k.observe(Event{Kind: Revoked, Token: k.tenure.token})
	}
	return nil
}
