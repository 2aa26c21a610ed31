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

// A contender is one attempt at a lock. Only one goroutine at a time makes, watches and removes the
// attempt's node, first [contender.obtain] and then [contender.hold], so that no exit can leave the
// node behind.
type contender struct {
	*queue
	ctx  context.Context // of the call, without its end; it is for observers
	rule rule
	predecessorHint
	prefix  string // of the path of every node that the contender makes
	started time.Time

	retryAfter time.Duration // the pause before a request that failed is tried again

	cancelled   chan struct{} // closed when the lock is no longer wanted: cancelled or unlocked
	cancelOnce  sync.Once
	cancelCause error // why it is not; good once unwanted is closed
	// closed when the lock is to be held no longer alone, but shared; nil unless it is a writer's
	downgraded    chan struct{}
	downgradeOnce sync.Once
	removed       chan struct{} // closed when the node has been removed

	nodeState
	watches      map[string]watch // that were set and have not fired, by the name of the node
	uncertain    bool             // a request to create a node may have been carried out
	wasUncertain bool             // that was so at any time of the attempt
	guidInFlight bool             // a request may be under way that names a node with the GUID
	useHint      bool             // the node before the contender's own will be guessed
	clientClosed bool             // the client has said that it was closed
	failingSince time.Time        // when the client was first found closed, as far as one can tell
	lastFailure  time.Time        // when it was last
	waited       bool             // somebody stood before it
	granted      bool             // it had its turn
	// the session in which a request to delete the node was first sent, 0 while none was
	deleteSession int64
	// why the node could not be removed, or was gone before; good once gone is closed
	removalErr error
}

// A nodeState is what a contender knows of its node.
type nodeState struct {
	node     string    // its path, empty while there is none
	owner    int64     // the session to which it belongs, 0 if that is not known
	lastSeen time.Time // when the last request was sent whose answer has shown that it stands
	token    int64     // the fencing token
	// the transaction that made the node, 0 unless it was needed to tell the order
	czxid int64
	// when the node was asked for; zero if the answer was lost and the node found
	createdAt time.Time

	ownWatch <-chan zk.Event // that the node was changed or is gone; nil while it is not watched
	ownEpoch uint64          // the connection over which own was asked for

	// the answer to a listing that was sent along with the request for the node; nil once it was
	// used
	earlyListing <-chan listing
}

// A listing is what [queue.list] returns.
type listing struct {
	entries  []entry
	dirCzxid int64 // the transaction that made the directory
	dirPzxid int64 // the one that last made or removed a node there
}

// What ends a step of an attempt.
var (
	errCancelled = errors.New("lock: no longer wanted")
	errNodeLost  = errors.New("lock: the node is gone, or belongs to another session")
	errRestart   = errors.New("lock: again") // the contenders are to be listed again
)

// retryPause is the time between two tries of a request that failed, to which each contender adds
// up to 66 ms of its own: those that a lost connection has failed together shall not come back
// together.
const retryDelay = 100 * time.Millisecond

func newContender(ctx context.Context, q *queue, r rule) (*contender, error) {
	h, err := q.takeHint(r)
	if err != nil {
		return nil, err
	}
	c := &contender{
		queue: q, ctx: context.WithoutCancel(ctx), rule: r, predecessorHint: h,
		prefix: q.at(namePrefix + h.guid + nameInfixes[r.kind]), started: time.Now(),
		useHint:    h.predecessor != "" && h.trust >= minTrust,
		retryAfter: retryDelay + time.Duration(h.jitter())*time.Microsecond,
		cancelled:  make(chan struct{}), removed: make(chan struct{}),
	}
	if r.kind == writer {
		c.downgraded = make(chan struct{})
	}
	return c, nil
}

// cancel tells the contender that the lock is no longer wanted, and why.
func (c *contender) cancel(why error) {
	c.cancelOnce.Do(func() {
		c.cancelCause = why
		close(c.cancelled)
	})
}

// callerError returns the error of an attempt that has failed as its caller gets to know it.
func (c *contender) callerError(err error) error {
	if err == errCancelled {
		return c.cancelCause
	}
	return err
}

// downgrade tells the contender to let readers in beside it.
func (c *contender) downgrade() { c.downgradeOnce.Do(func() { close(c.downgraded) }) }

// obtain goes through the queue. If the lock is granted, its caller must see to it that
// [contender.hold] is called.
func (c *contender) obtain() (*leaseKeeper, error) {
	keeper, err := c.acquire()
	for name, one := range c.watches {
		one.dirCzxid = c.dirCzxid
		c.idleWatches.put(c.at(name), one)
	}
	if err != nil {
		defer close(c.removed)
		c.observe(Event{Kind: Failed, Err: c.callerError(err), Elapsed: time.Since(c.started)})
		// The node goes first: a caller that hears of the failure may try again at once, and would
		// queue behind it. One that has stopped waiting is not kept.
		c.remove()
		return nil, err
	}
	c.granted = true
	c.observe(Event{Kind: Granted, Token: keeper.tenure.token, Elapsed: time.Since(c.started)})
	return keeper, nil
}

// hold holds the lock until it is given back or lost.
func (c *contender) hold(k *leaseKeeper) {
	defer close(c.removed)
	began := time.Now()
	k.keep()
	c.guidInFlight = c.guidInFlight || k.tenure.hasPendingWrites()
	c.observe(Event{
		Kind: Ended, Token: k.tenure.token, Elapsed: time.Since(began),
		Err: k.tenure.loss(),
	})
	c.remove()
}

// acquire makes a node and waits until it has its turn. It returns the watch over it.
func (c *contender) acquire() (*leaseKeeper, error) {
	for {
		keeper, err := c.attempt()
		switch {
		case err == nil, err == errCancelled, err == ErrNotAcquired, refused(err):
			return keeper, err
		case err == errNodeLost:
			// The session was lost, or somebody removed the node: a new node queues at the end.
			c.nodeState, c.guidInFlight = nodeState{}, true
			clear(c.watches)
			continue
		}
		if err := c.pause(err); err != nil {
			return nil, err
		}
	}
}

// attempt goes as far as it can without an error. What it has reached, a node, is kept for the next
// attempt.
func (c *contender) attempt() (*leaseKeeper, error) {
	if c.node == "" {
		if err := c.create(); err != nil {
			return nil, err
		}
		c.observe(Event{Kind: Queued})
	}
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
		return c.newLeaseKeeper(c.createdAt), nil
	}
	return c.confirmKeeper()
}

// alive tells whether the session to which the node belongs must still live. The node was made by a
// request that was answered, so the leader has agreed to it while the session lived; that must not
// be long ago. And the client's session has not changed since before the node was made. No read
// proves as much, as a server that lags behind answers it.
func (c *contender) alive() bool {
	return c.owner != 0 && c.owner == c.client.SessionID() && time.Since(c.createdAt) < c.validity/2
}

// create makes the contender's node, or finds the one that an earlier request made whose reply was
// lost.
func (c *contender) create() error {
	if c.checkCancelled() != nil {
		return errCancelled
	}
	if c.uncertain {
		if err := c.findNode(); err != nil || c.node != "" {
			return err
		}
		if c.checkCancelled() != nil {
			return errCancelled // It may have been given up meanwhile.
		}
	}
	c.uncertain = true
	session, sentAt := c.client.SessionID(), time.Now()
	if !c.useHint {
		c.earlyListing = c.listConcurrently()
	}
	node, err := c.client.Create(c.prefix, record{Metadata: c.metadata}.encode(),
		zk.FlagEphemeral|zk.FlagSequence, c.acl)
	switch {
	case err == nil:
		// The name alone counts: a client that puts a prefix before every path may return it with
		// or without.
		c.node, c.uncertain = c.at(node[strings.LastIndexByte(node, '/')+1:]), false
		c.createdAt, c.lastSeen = sentAt, sentAt
		// If the client's session is still this one, the node was made in it: no session comes
		// back.
		c.owner = session
	case errors.Is(err, zk.ErrNoNode):
		c.uncertain, c.useHint = false, false
		return c.createParents(c.path)
	case refused(err), errors.Is(err, zk.ErrNoServer): // The client has not sent it.
		c.uncertain = false
	default:
		c.wasUncertain, c.guidInFlight, c.useHint = true, true, false
	}
	return err
}

// listConcurrently lists the contenders while the caller goes on to ask for its node. Sent one
// after the other, without waiting in between, the two take no more time than one: a server handles
// the requests of a connection in the order in which they come. Should they be sent the other way
// round, the node will not be in the listing.
func (c *contender) listConcurrently() <-chan listing {
	answer := make(chan listing, 1)
	go func() {
		defer close(answer) // even where the client ends the goroutine
		if l, err := c.list(); err == nil {
			answer <- l
		}
	}()
	return answer
}

// createParents makes the directory of the lock. It returns an error that makes the attempt start
// over even where nothing failed, because the node itself is still to be made.
func (c *contender) createParents(directory string) error {
	err := c.createDirectory(directory)
	if parent := directory[:strings.LastIndexByte(directory, '/')]; errors.Is(err, zk.ErrNoNode) &&
		parent != "" {
		if err := c.createParents(parent); err != errRestart {
			return err
		}
		err = c.createDirectory(directory)
	}
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return err
	}
	return errRestart
}

// A containerClient is a client that can make container nodes.
type containerClient interface {
	CreateContainer(path string, data []byte, flags int32, acl []zk.ACL) (string, error)
}

func (c *contender) createDirectory(directory string) error {
	if client, ok := c.client.(containerClient); ok && c.containers {
		_, err := client.CreateContainer(directory, nil, zk.FlagContainer, c.acl)
		return err
	}
	_, err := c.client.Create(directory, nil, 0, c.acl)
	return err
}

// findNode looks for nodes that hold the contender's GUID. One that belongs to the current session
// becomes the contender's; all others are removed. What was sent before is settled first, because a
// server that lags may not know the node yet.
func (c *contender) findNode() error {
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
	c.uncertain = false
	return nil
}

// remove makes sure that no node of the contender is left. It goes on until ZooKeeper has confirmed
// it, or has refused it, or the client was closed: then the session is over, or soon will be.
func (c *contender) remove() {
	for c.node != "" || c.uncertain {
		err := c.removeOnce()
		if err != nil && (refused(err) || c.closed(err)) {
			c.removalErr = fmt.Errorf("lock: the node could not be removed: %w", err)
			c.observe(Event{Kind: Abandoned, Err: err})
			return
		}
		if err != nil {
			c.observe(Event{Kind: Retried, Err: err})
			time.Sleep(c.retryAfter)
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
		// In a later session nothing tells whether an earlier request has removed the node, or the
		// end of its session.
		c.removalErr = errNodeGone
	case err != nil && !isNoNode(err):
		c.guidInFlight = true
		return err
	case err == nil:
		c.storeHint()
	}
	c.observe(Event{Kind: Removed})
	c.node = ""
	c.granted = false // What comes now has not had its turn.
	// A request that was taken for lost may have been carried out late, and made a second node.
	c.uncertain, c.wasUncertain = c.uncertain || c.wasUncertain, false
	return nil
}

// releaseNode deletes the node. That of a Mutex is changed before, in the same transaction, so that
// the event which wakes the contender behind it tells that nobody is left before it: of the two
// events only the first reaches a watch. Whoever has not had its turn, or has lost its session,
// leaves without that sign. So does one that did not have to wait itself, because most likely
// nobody waits for it either, and the sign has its price.
func (c *contender) releaseNode() error {
	if client, ok := c.client.(multiClient); ok && c.granted && c.waited &&
		c.rule.kind == exclusive {
		_, err := client.Multi(&zk.SetDataRequest{Path: c.node, Version: -1},
			&zk.DeleteRequest{Path: c.node, Version: -1})
		if !errors.Is(err, zk.ErrNoAuth) { // It takes one right more than to delete.
			return err
		}
	}
	return c.client.Delete(c.node, -1)
}

// delete deletes a node. One that is gone already counts as deleted.
func (c *contender) delete(path string) error {
	if err := c.client.Delete(path, -1); !isNoNode(err) {
		return err
	}
	return nil
}

// checkCancelled returns errUnwanted once the lock is no longer checkCancelled.
func (c *contender) checkCancelled() error {
	select {
	case <-c.cancelled:
		return errCancelled
	default:
		return nil
	}
}

// pause waits before a request is tried again.
func (c *contender) pause(err error) error {
	if err == errRestart {
		return nil
	}
	c.observe(Event{Kind: Retried, Err: err})
	if c.closed(err) {
		return zk.ErrClosing
	}
	timer := time.NewTimer(c.retryAfter)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.cancelled:
	}
	return c.checkCancelled() // Both may have been ready.
}

// closed tells whether the client was closed by its owner. go-zookeeper/zk says so to watches only:
// calls fail with ErrConnectionClosed, as after a lost connection. But a client that is open tries
// to connect again at once, and its calls wait for that. So one whose every call fails at once, for
// longer than any session lasts, has been closed. A [Session] knows.
func (c *contender) closed(err error) bool {
	if c.clientClosed || c.session != nil {
		return c.clientClosed || c.session.isClosed()
	}
	if c.client.State() != zk.StateDisconnected || !errors.Is(err, zk.ErrConnectionClosed) {
		return false
	}
	now := time.Now()
	if now.Sub(c.lastFailure) > max(c.timeout/2, 2*c.retryAfter) {
		c.failingSince = now // A call took its time in between, as those of a closed client do not.
	}
	c.lastFailure = now
	return now.Sub(c.failingSince) > 2*c.timeout
}

func isNoNode(err error) bool { return errors.Is(err, zk.ErrNoNode) }
