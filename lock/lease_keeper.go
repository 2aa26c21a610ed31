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
	grant *tenure

	// that the directory's data were changed; nil while they are not watched
	posted  <-chan zk.Event
	version int32 // of those data, as last seen

	demoted  <-chan struct{} // nil once it was closed
	demoting bool            // the node is to be marked as shared

	every    time.Duration // between two confirmations
	deadline time.Time     // when the last confirmation is worth nothing any more
	expiry   *time.Timer   // ends the grant then; nil before the first confirmation
	timer    *time.Timer   // for the next confirmation
}

// newLeaseKeeper grants the lock. The confirmation that it begins with counts from the moment in
// which the request was sent: the server heard of the session no earlier.
func (c *contender) newLeaseKeeper(confirmed time.Time) *leaseKeeper {
	v := &leaseKeeper{
		contender: c, grant: newTenure(c, c.token), demoted: c.demoted,
		deadline: confirmed.Add(c.validity),
		// Those that were granted together shall not ask together ever after.
		every: c.timeout/confirmations - min(c.retryAfter-retryPause, c.timeout/confirmations/2),
	}
	v.grant.extend(v.deadline)
	return v
}

// confirmKeeper verifies that the contender's own node stands and belongs to the current session,
// and grants the lock.
func (c *contender) confirmKeeper() (*leaseKeeper, error) {
	confirmed, confirm := c.created, c.confirmNode
	if !c.alive() {
		confirmed, confirm = time.Now(), func() error { return c.prove() }
	}
	if err := confirm(); err != nil {
		return nil, err
	}
	if time.Since(confirmed) >= c.validity {
		return nil, errAgain // The answer took so long that the lease would be lost at once.
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
		if err := c.standsWatched(); err != nil {
			return err
		}
	}
	_, err := client.Multi(append([]any{&zk.CheckVersionRequest{Path: c.node, Version: -1}},
		more...)...)
	switch {
	case isNoNode(err):
		return errDisowned
	case err == nil && c.owner != c.client.SessionID():
		return errDisowned
	}
	return err
}

// confirmNode verifies that the node stands and belongs to the current session, and that it is
// watched.
func (c *contender) confirmNode() error {
	if c.own == nil {
		return c.standsWatched()
	}
	_, err := c.stands()
	return err
}

// A lock that is held is confirmed so many times in a session timeout, or up to twice as often.
const confirmations = 6

// watchAfter is which part of the session timeout a lock is held before its node is watched, if it
// is not yet. Locks that are held for a moment only need no watch.
const watchAfter = 20

// keep keeps watch until the lock is unlocked or lost. Every confirmation puts the expiry off.
func (v *leaseKeeper) keep() {
	if v.wanted() != nil {
		return
	}
	defer v.stopExpiry()
	defer v.leaveWatch()
	if v.session != nil {
		v.session.enlist(v.grant)
		defer v.session.delist(v.grant)
	}
	v.timer = time.NewTimer(min(v.patience(), time.Until(v.deadline)/2))
	defer v.timer.Stop()
	for {
		select {
		case <-v.unwanted:
		case <-v.grant.ctx.Done():
		case <-v.demoted:
			v.demoted, v.demoting = nil, true
		case event := <-v.own:
			v.hear(&v.own, event)
		case event := <-v.posted:
			v.hear(&v.posted, event)
		case <-v.closing:
			v.shut = true
		case <-v.timer.C:
		}
		v.notice()
		if v.shut {
			v.grant.end(errClosed)
		}
		v.grant.look()
		// Several may have been ready: the end goes before the rest.
		if v.wanted() != nil || v.grant.ctx.Err() != nil || !v.confirm() {
			return
		}
	}
}

// hear takes note of what a watch tells.
func (v *leaseKeeper) hear(watch *<-chan zk.Event, event zk.Event) {
	*watch = nil
	v.shut = v.shut || event.Err == zk.ErrClosing
}

// heeding sends requests and listens to the watch on the node meanwhile: while the connection is
// down a request can wait for longer than the client takes to learn that the session is over. Any
// other news it leaves in the place of the watch.
func (v *leaseKeeper) heeding(requests func() error) error {
	own := v.own
	if own == nil {
		return requests()
	}
	answered, heard := make(chan struct{}), make(chan (<-chan zk.Event), 1)
	go func() {
		select {
		case event := <-own:
			v.grant.look()
			kept := make(chan zk.Event, 1)
			kept <- event
			heard <- kept
		case <-answered:
			heard <- own
		}
	}()
	defer func() { // even where the client ends the goroutine
		close(answered)
		if left := <-heard; v.own == own {
			v.own = left
		}
	}()
	return requests()
}

// notice takes note of what else has happened by now, so that it makes no difference which of
// several was heard first.
func (v *leaseKeeper) notice() {
	select {
	case <-v.demoted:
		v.demoted, v.demoting = nil, true
	default:
	}
	select {
	case event := <-v.own:
		v.hear(&v.own, event)
	default:
	}
	select {
	case event := <-v.posted:
		v.hear(&v.posted, event)
	default:
	}
	select {
	case <-v.closing:
		v.shut = true
	default:
	}
}

// patience returns how long to wait before the next request.
func (v *leaseKeeper) patience() time.Duration {
	if v.own == nil {
		return v.timeout / watchAfter
	}
	return v.every
}

// takeWatch goes on with a watch on the directory that an earlier holder has left, if there is one.
// Nobody has been asked for the lock since, or the proof that follows will tell.
func (v *leaseKeeper) takeWatch() bool {
	left, ok := v.left.take(v.path)
	v.posted, v.version = left.events, left.version
	return ok
}

// leaveWatch leaves the watch on the directory to the next holder.
func (v *leaseKeeper) leaveWatch() {
	if v.posted != nil {
		v.left.leave(v.path, watch{events: v.posted, version: v.version})
	}
}

func (v *leaseKeeper) stopExpiry() {
	if v.expiry != nil {
		v.expiry.Stop()
	}
}

// confirm asks ZooKeeper whether the lock is still held, and returns false if not.
func (v *leaseKeeper) confirm() bool {
	asked := time.Now()
	if !asked.Before(v.deadline) {
		v.grant.end(errUnconfirmed) // The two timers may fire in the same instant.
		return false
	}
	if v.expiry == nil { // From now on requests are sent, and one may take for ever.
		v.expiry = time.AfterFunc(time.Until(v.deadline), func() { v.grant.end(errUnconfirmed) })
	}
	err := v.heeding(v.ask)
	v.grant.look()
	switch {
	case v.grant.ctx.Err() != nil:
		return false
	case err == errDisowned:
		v.grant.end(errNodeGone)
		return false
	case refused(err):
		v.grant.end(fmt.Errorf("%w: its node can not be confirmed: %w", ErrLost, err))
		return false
	case err != nil:
		v.observe(Event{Kind: Retried, Err: err})
		v.timer.Reset(v.retryAfter)
	default:
		v.deadline = asked.Add(v.validity)
		v.grant.extend(v.deadline)
		v.expiry.Reset(time.Until(v.deadline))
		v.timer.Reset(v.patience())
	}
	return true
}

// ask sends the request that is due.
func (v *leaseKeeper) ask() error {
	if v.demoting {
		return v.share()
	}
	if v.own == nil {
		if err := v.standsWatched(); err != nil {
			return err
		}
	}
	if v.posted == nil && !v.takeWatch() {
		if err := v.read(); err != nil {
			return err
		}
	}
	for {
		err := v.prove(&zk.CheckVersionRequest{Path: v.path, Version: v.version})
		if !errors.Is(err, zk.ErrBadVersion) {
			return err
		}
		// The watch has not told of a change: go-zookeeper/zk can lose such news over a reconnect.
		if err := v.read(); err != nil {
			return err
		}
	}
}

// share marks the node of an exclusive lock as shared. Those behind that read are woken by the
// change.
func (v *leaseKeeper) share() error {
	stat, err := v.client.Set(v.node, record{Metadata: v.metadata, Shared: true}.encode(), -1)
	switch {
	case isNoNode(err):
		return errDisowned
	case refused(err):
		v.demoting = false
		v.grant.shared(err)
		return nil
	case err != nil:
		return err
	case stat.EphemeralOwner != v.client.SessionID():
		return errDisowned
	}
	v.demoting = false
	// The watch has told of this change by now. To hear of it only when the caller goes on would be
	// a race with what the caller does next.
	v.notice()
	v.grant.shared(nil)
	return nil
}

// read takes note of what stands in the directory, and watches it.
func (v *leaseKeeper) read() error {
	data, stat, events, err := v.client.GetW(v.path)
	if err != nil {
		return err
	}
	v.posted, v.version = events, stat.Version
	asked, _ := readRevocation(data) // What somebody else has put there asks nobody.
	if slices.ContainsFunc(asked.Revoked, func(name string) bool { return v.at(name) == v.node }) &&
		v.grant.revoke() {
		v.observe(Event{Kind: Revoked, Token: v.grant.token})
	}
	return nil
}
