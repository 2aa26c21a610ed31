package lock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// A contender is one attempt at a lock. Only one goroutine at a time creates, watches and removes
// its node, first in [contender.obtain] and then in [contender.hold], so that no exit can leave the
// node behind.
type contender struct {
	*queue
	ctx     context.Context // the call's, without its end; for observers
	rule    rule
	asked   Attempt
	guid    guid
	prefix  string // path prefix of every node of the contender
	started time.Time

	retryAfter time.Duration // delay before a failed request is retried

	cancelled   chan struct{} // closed when the attempt is cancelled or the lock unlocked
	cancelOnce  sync.Once
	cancelCause error // the reason; valid once cancelled is closed
	// closed to turn an exclusive lock into a shared one; nil unless the contender is a writer
	downgraded    chan struct{}
	downgradeOnce sync.Once
	removed       chan struct{} // closed once the node has been removed

	nodeState
	gathering    *gathering       // nil unless it is a party
	watches      map[string]watch // pending watches, by the name of the node
	uncertain    bool             // a create with an unknown outcome may have made a node
	wasUncertain bool             // uncertain was true at some time of the attempt
	dirCzxid     int64            // zxid that created the directory, from the last listing
	waited       bool             // it had to wait for another contender
	granted      bool             // it was granted the lock
	// the session in which the first request to delete the node was sent; 0 before
	deleteSession int64
	forfeits      bool // its node is removed although the attempt goes on
	// why the node was not removed, or that it was gone before; valid once removed is closed
	removalErr error
}

// A nodeState is what a contender knows about its node.
type nodeState struct {
	node     string    // its path; empty while there is none
	queued   bool      // the observers know of it
	owner    int64     // session to which it belongs; 0 if unknown
	lastSeen time.Time // when the last request that found it was sent
	token    int64     // the fencing token
	// the zxid that created the node; 0 unless it was needed for the order
	czxid int64
	// how long pairs have taken that were answered too late to grant the lock: see [contender.late]
	tooLate time.Duration

	ownWatch <-chan zk.Event // fires when the node changes or goes; nil if not watched
	ownEpoch uint64          // epoch of the connection on which ownWatch was set

	// the reply to the listing sent along with the create; nil once used
	earlyListing <-chan listing
}

// A listing is the result of [queue.list].
type listing struct {
	entries  []entry
	dirCzxid int64 // zxid that created the directory
	dirPzxid int64 // zxid of its last change of children
}

// The errors that end a step of an attempt.
var (
	errCancelled = errors.New("lock: cancelled")
	errNodeLost  = errors.New("lock: the node is gone or belongs to another session")
	errRestart   = errors.New("lock: restart the attempt")
)

// The reasons why an attempt is repeated although no request has failed.
var (
	errTooSlow = errors.New("lock: ZooKeeper takes too long to answer, for the session " +
		"timeout")
	errSlowConnection = errors.New("lock: the connection took too long to open, for the session " +
		"timeout; waiting for its first pings")
)

// recentPart is the divisor of the session timeout that gives the age at which the last sight of a
// node, or the last request, is no longer recent.
const recentPart = 20

// retryDelay is the default of [WithRetryDelay]. Each contender adds up to two thirds of its own,
// so that the contenders that a lost connection has failed together do not return together.
const retryDelay = 100 * time.Millisecond

func newContender(ctx context.Context, q *queue, r rule) (*contender, error) {
	id, err := q.newGUID()
	if err != nil {
		return nil, err
	}
	c := &contender{
		queue: q, ctx: context.WithoutCancel(ctx), rule: r,
		asked: Attempt{Shared: r.kind == shared, Places: r.spare + 1}, guid: id,
		prefix: q.at(namePrefix + string(id) + nameInfixes[r.kind]), started: time.Now(),
		retryAfter: q.retryDelay + id.spread(q.retryDelay*2/3),
		cancelled:  make(chan struct{}), removed: make(chan struct{}),
	}
	if r.kind == writer {
		c.downgraded = make(chan struct{})
	}
	if r.kind == party {
		c.gathering = new(gathering)
		c.asked.Shared = true
	}
	return c, nil
}

// cancel ends the attempt or the hold, for the given reason.
func (c *contender) cancel(why error) {
	c.cancelOnce.Do(func() {
		c.cancelCause = why
		close(c.cancelled)
	})
}

// callerError returns the error of a failed attempt as its caller receives it.
func (c *contender) callerError(err error) error {
	if err == errCancelled {
		return c.cancelCause
	}
	return err
}

// downgrade lets other readers in.
func (c *contender) downgrade() { c.downgradeOnce.Do(func() { close(c.downgraded) }) }

// obtain waits until the lock is granted. The caller must then ensure that [contender.hold] is
// called.
func (c *contender) obtain() (*leaseKeeper, error) {
	keeper, err := c.acquire()
	for name, one := range c.watches {
		one.dirCzxid = c.dirCzxid
		c.idleWatches.put(c.at(name), one)
	}
	if err != nil {
		defer close(c.removed)
		c.observe(Event{Kind: Failed, Err: c.callerError(err), Elapsed: time.Since(c.started)})
		// The node is removed first: a caller that learns of the failure may retry at once, and
		// would queue behind it. A caller that no longer waits is not delayed.
		c.remove()
		if c.rule.kind == party {
			err = c.unlessBegun(c.callerError(err))
		}
		return nil, err
	}
	c.granted = true
	c.session.register(keeper.tenure) // A Close that the caller calls next ends the lease.
	c.observe(Event{Kind: Granted, Token: keeper.tenure.token, Elapsed: time.Since(c.started)})
	return keeper, nil
}

// hold holds the lock until it is unlocked or lost.
func (c *contender) hold(k *leaseKeeper) {
	defer close(c.removed)
	await := c.observeEnd(k.tenure)
	k.keep()
	k.tenure.end(errUnlocked) // It still lasts if the call was cancelled just before the grant.
	await()
	c.remove()
}

// acquire creates a node and waits until it is granted the lock.
func (c *contender) acquire() (*leaseKeeper, error) {
	for {
		keeper, err := c.attempt()
		switch {
		case err == nil, err == errCancelled, err == ErrNotAcquired, err == errRoundMissed,
			errors.Is(err, errForeign), refused(err):
			return keeper, err
		case err == errNodeLost:
			// The session was lost, or somebody deleted the node: a new node queues at the end.
			c.nodeState = nodeState{}
			clear(c.watches)
			// If a deposed leader has called the session expired, it lives on with its node, which
			// a round would count.
			c.uncertain = c.uncertain || c.rule.kind == party
			continue
		case err == errForfeited:
			if err := c.forfeit(errTooSlow); err != nil {
				return nil, err
			}
			if c.ctx.Value(othersKey{}) != nil {
				return nil, errForfeited
			}
			continue
		}
		if err := c.pause(err); err != nil {
			return nil, err
		}
	}
}

// attempt proceeds as far as it can without an error. The node is kept for the next attempt.
func (c *contender) attempt() (*leaseKeeper, error) {
	if c.rule.kind == party {
		return c.join()
	}
	if c.node == "" {
		if err := c.create(); err != nil {
			return nil, err
		}
	}
	c.observeQueued()
	blockers, err := c.blockers()
	if err != nil {
		return nil, err
	}
	verified := len(blockers) <= c.rule.spare // The listing has shown the node.
	if !verified {
		c.waited = true
		if err := c.waitFor(blockers); err != nil {
			return nil, err
		}
		if verified, err = c.ownNodeIntact(); err != nil {
			return nil, err
		}
	}
	if err := c.checkCancelled(); err != nil {
		return nil, err
	}
	if verified && c.alive() {
		return c.newLeaseKeeper(), nil
	}
	return c.confirmKeeper()
}

// alive reports whether the session to which the node belongs is the client's, and certain to be
// alive for some time. Only a pair of requests proves it: see [proof].
func (c *contender) alive() bool {
	most := c.validity / 2
	if trip := c.session.proof.slowTrip(); trip > 0 {
		if !c.session.proof.continues(c.owner) {
			return false
		}
		most = c.validity - trip*5/4 // The next write takes one round trip.
	}
	return c.owner != 0 && c.owner == c.client.SessionID() &&
		time.Since(c.provenAt()) < most && !c.session.proof.unstable()
}

func (c *contender) isConnected() bool { return c.client.State() == zk.StateHasSession }

// provenAt returns since when the session to which the node belongs is proved to be alive: see
// [proof].
func (c *contender) provenAt() time.Time { return c.session.provenAt(c.owner) }

// create creates the contender's node, or finds the node of an earlier request whose reply was
// lost.
func (c *contender) create() error {
	if c.checkCancelled() != nil {
		return errCancelled
	}
	if c.uncertain {
		if err := c.findNode(); err != nil || c.node != "" {
			return err
		}
	}
	connected, began := c.isConnected(), time.Now()
	if err := c.precede(); err != nil {
		return err
	}
	switch {
	case c.checkCancelled() != nil:
		return errCancelled // It may have been cancelled meanwhile.
	case connected && time.Since(began) > c.validity/chainTrips:
		return errTooSlow // It could not prove a lease, and would block those behind it.
	}
	c.uncertain = true
	session, sentAt := c.client.SessionID(), time.Now()
	c.earlyListing = c.listConcurrently()
	var node string
	err := c.write(func() (err error) {
		node, err = c.client.Create(c.prefix, record{Metadata: c.metadata}.encode(),
			zk.FlagEphemeral|zk.FlagSequence, c.acl)
		return err
	})
	switch {
	case err == nil:
		// Only the name counts: a client that adds a prefix to every path may return it with or
		// without the prefix.
		c.node, c.uncertain = c.at(node[strings.LastIndexByte(node, '/')+1:]), false
		c.lastSeen = sentAt
		// If this is still the client's session, the node belongs to it, because no session
		// returns.
		c.owner = session
	case errors.Is(err, zk.ErrNoNode):
		c.uncertain = false
		return c.createParents(c.path)
	case refused(err), errors.Is(err, zk.ErrNoServer): // The client has not sent it.
		c.uncertain = false
	default:
		c.wasUncertain = true
	}
	return err
}

// listConcurrently lists the contenders while the caller sends the create. A server handles the
// requests of a connection in order, so that the two, sent without waiting in between, take no
// longer than one. If the listing is sent first, it lacks the node.
func (c *contender) listConcurrently() <-chan listing {
	answer := make(chan listing, 1)
	go func() {
		defer close(answer) // even if the client ends the goroutine
		if l, err := c.list(); err == nil {
			answer <- l
		}
	}()
	return answer
}

// findNode looks for nodes with the contender's GUID. A node of the current session becomes the
// contender's; all others are removed. A barrier comes first, because a server that lags may not
// know the node yet.
func (c *contender) findNode() error {
	session := c.client.SessionID()
	if err := c.barrier(); err != nil {
		return err
	}
	found, err := c.list()
	if err != nil {
		return err
	}
	for _, e := range found.entries {
		if e.guid != c.guid {
			continue
		}
		path := c.at(e.name)
		exists, stat, err := c.client.Exists(path)
		if err != nil {
			return err
		}
		if exists && c.node == "" && stat.EphemeralOwner == c.client.SessionID() {
			c.node, c.owner = path, stat.EphemeralOwner
			continue
		}
		if err := c.delete(path); err != nil {
			return err
		}
	}
	if c.client.SessionID() != session {
		return errRestart // The listing may be older than the barrier.
	}
	c.uncertain = false
	return nil
}

// remove removes every node of the contender. It retries until ZooKeeper confirms or refuses the
// removal, or the client is closed: the session is then over, or soon will be.
func (c *contender) remove() {
	for c.node != "" || c.uncertain {
		err := c.removeOnce()
		if err != nil && (refused(err) || c.session.isClosed()) {
			c.removalErr = fmt.Errorf("lock: the node could not be removed: %w", err)
			c.observe(Event{Kind: Abandoned, Err: err})
			return
		}
		if err != nil {
			c.observe(Event{Kind: Retried, Err: err})
			select {
			case <-time.After(c.retryAfter):
			case <-c.session.ended:
			}
		}
	}
}

func (c *contender) removeOnce() error {
	if c.node == "" {
		return c.findNode()
	}
	first := c.deleteSession == 0
	if first {
		c.deleteSession = c.client.SessionID()
	}
	err := c.releaseNode()
	switch {
	case isNoNode(err) && (first || c.client.SessionID() != c.deleteSession):
		// In a later session it is unknown whether an earlier request or the end of its session has
		// removed the node.
		c.removalErr = errNodeGone
	case err != nil && !isNoNode(err):
		return err
	}
	if !c.forfeits {
		c.observe(Event{Kind: Removed})
	}
	c.node = ""
	c.granted = false // A second node never held the lock.
	// A request presumed lost may have been carried out late and have created a second node.
	c.uncertain, c.wasUncertain = c.uncertain || c.wasUncertain, false
	return nil
}

// releaseNode deletes the node. The node of a Mutex is first changed in the same transaction: of
// the two events only the first reaches a watch, and it tells the contender behind that nobody is
// left before it.
//
// A contender that never held the lock, or that has lost its session, gives no such signal. Neither
// does one that did not have to wait: most likely nobody waits for it, and the signal has a cost.
func (c *contender) releaseNode() error {
	if c.granted && c.waited && c.rule.kind == exclusive {
		err := c.multi(&zk.SetDataRequest{Path: c.node, Version: -1},
			&zk.DeleteRequest{Path: c.node, Version: -1})
		if !errors.Is(err, zk.ErrNoAuth) { // A write needs one permission more than a delete.
			return err
		}
	}
	return c.write(func() error { return c.client.Delete(c.node, -1) })
}

// delete deletes a node. It succeeds if the node does not exist.
func (c *contender) delete(path string) error {
	if err := c.client.Delete(path, -1); !isNoNode(err) {
		return err
	}
	return nil
}

// checkCancelled returns errCancelled once the lock is no longer wanted.
func (c *contender) checkCancelled() error {
	select {
	case <-c.cancelled:
		return errCancelled
	default:
		return nil
	}
}

// pause waits before a request is retried: after a slow connection, until requests can lead to a
// grant. A try does not wait for that, nor without a node.
func (c *contender) pause(err error) error {
	if err == errRestart {
		return nil
	}
	closed := c.session.isClosed()
	if !closed && c.rule.try && (err == errSlowConnection || c.node == "" && !c.uncertain) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	c.observe(Event{Kind: Retried, Err: err})
	if closed {
		return zk.ErrClosing
	}
	for {
		delay := c.retryAfter
		if err == errSlowConnection {
			delay += c.session.proof.youngFor()
		}
		if err := c.sleep(delay); err != nil {
			return err
		}
		if err != errSlowConnection || !c.session.settling() {
			return nil
		}
	}
}

// sleep waits for the duration. It returns an error if the attempt must end before.
func (c *contender) sleep(duration time.Duration) error {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.cancelled:
	case <-c.session.ended:
	}
	return c.checkInterrupted() // Several may have been ready.
}

func isNoNode(err error) bool { return errors.Is(err, zk.ErrNoNode) }
