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

	unwanted    chan struct{} // closed when the lock is no longer wanted: cancelled or unlocked
	dismissOnce sync.Once
	dismissal   error // why it is not; good once unwanted is closed
	// closed when the lock is to be held no longer alone, but shared; nil unless it is a writer's
	demoted    chan struct{}
	demoteOnce sync.Once
	gone       chan struct{} // closed when the node has been removed

	standing
	registry  map[string]watch // that were set and have not fired, by the name of the node
	uncertain bool             // a request to create a node may have been carried out
	doubted   bool             // that was so at any time of the attempt
	spoilt    bool             // a request may be under way that names a node with the GUID
	hinting   bool             // the node before the contender's own will be guessed
	shut      bool             // the client has said that it was closed
	muteSince time.Time        // when the client was first found closed, as far as one can tell
	muteLast  time.Time        // when it was last
	waited    bool             // somebody stood before it
	granted   bool             // it had its turn
	// the session in which a request to delete the node was first sent, 0 while none was
	deleting int64
	// why the node could not be removed, or was gone before; good once gone is closed
	removal error
}

// A standing is what a contender knows of its node.
type standing struct {
	node  string    // its path, empty while there is none
	owner int64     // the session to which it belongs, 0 if that is not known
	seen  time.Time // when the last request was sent whose answer has shown that it stands
	token int64     // the fencing token
	// the transaction that made the node, 0 unless it was needed to tell the order
	czxid   int64
	created time.Time // when the node was asked for; zero if the answer was lost and the node found

	own  <-chan zk.Event // that the node was changed or is gone; nil while it is not watched
	line uint64          // the connection over which own was asked for

	// the answer to a listing that was sent along with the request for the node; nil once it was
	// used
	along <-chan listing
}

// A listing is what [queue.list] returns.
type listing struct {
	entries []entry
	made    int64 // the transaction that made the directory
	changed int64 // the one that last made or removed a node there
}

// What ends a step of an attempt.
var (
	errUnwanted = errors.New("lock: no longer wanted")
	errDisowned = errors.New("lock: the node is gone, or belongs to another session")
	errAgain    = errors.New("lock: again") // the contenders are to be listed again
)

// retryPause is the time between two tries of a request that failed, to which each contender adds
// up to 66 ms of its own: those that a lost connection has failed together shall not come back
// together.
const retryPause = 100 * time.Millisecond

func newContender(ctx context.Context, q *queue, r rule) (*contender, error) {
	m, err := q.takeHint(r)
	if err != nil {
		return nil, err
	}
	c := &contender{
		queue: q, ctx: context.WithoutCancel(ctx), rule: r, predecessorHint: m,
		prefix: q.at(namePrefix + m.guid + nameInfixes[r.kind]), started: time.Now(),
		hinting:    m.ahead != "" && m.trust >= trusted,
		retryAfter: retryPause + time.Duration(m.draw())*time.Microsecond,
		unwanted:   make(chan struct{}), gone: make(chan struct{}),
	}
	if r.kind == writer {
		c.demoted = make(chan struct{})
	}
	return c, nil
}

// dismiss tells the contender that the lock is no longer wanted, and why.
func (c *contender) dismiss(why error) {
	c.dismissOnce.Do(func() {
		c.dismissal = why
		close(c.unwanted)
	})
}

// why returns the error of an attempt that has failed as its caller gets to know it.
func (c *contender) why(err error) error {
	if err == errUnwanted {
		return c.dismissal
	}
	return err
}

// demote tells the contender to let readers in beside it.
func (c *contender) demote() { c.demoteOnce.Do(func() { close(c.demoted) }) }

// obtain goes through the queue. If the lock is granted, its caller must see to it that
// [contender.hold] is called.
func (c *contender) obtain() (*leaseKeeper, error) {
	vigil, err := c.acquire()
	for name, one := range c.registry {
		one.made = c.made
		c.left.leave(c.at(name), one)
	}
	if err != nil {
		defer close(c.gone)
		c.observe(Event{Kind: Failed, Err: c.why(err), Elapsed: time.Since(c.started)})
		// The node goes first: a caller that hears of the failure may try again at once, and would
		// queue behind it. One that has stopped waiting is not kept.
		c.remove()
		return nil, err
	}
	c.granted = true
	c.observe(Event{Kind: Granted, Token: vigil.grant.token, Elapsed: time.Since(c.started)})
	return vigil, nil
}

// hold holds the lock until it is given back or lost.
func (c *contender) hold(v *leaseKeeper) {
	defer close(c.gone)
	began := time.Now()
	v.keep()
	c.spoilt = c.spoilt || v.grant.writes()
	c.observe(Event{
		Kind: Ended, Token: v.grant.token, Elapsed: time.Since(began),
		Err: v.grant.loss(),
	})
	c.remove()
}

// acquire makes a node and waits until it has its turn. It returns the watch over it.
func (c *contender) acquire() (*leaseKeeper, error) {
	for {
		vigil, err := c.attempt()
		switch {
		case err == nil, err == errUnwanted, err == ErrNotAcquired, refused(err):
			return vigil, err
		case err == errDisowned:
			// The session was lost, or somebody removed the node: a new node queues at the end.
			c.standing, c.spoilt = standing{}, true
			clear(c.registry)
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
	proven := len(blockers) <= c.rule.spare // The listing has shown the node.
	if !proven {
		c.waited = true
		if err := c.waitFor(blockers); err != nil {
			return nil, err
		}
		if proven, err = c.unharmed(); err != nil {
			return nil, err
		}
	}
	if err := c.wanted(); err != nil {
		return nil, err
	}
	if proven && c.alive() {
		return c.newLeaseKeeper(c.created), nil
	}
	return c.confirmKeeper()
}

// alive tells whether the session to which the node belongs must still live. The node was made by a
// request that was answered, so the leader has agreed to it while the session lived; that must not
// be long ago. And the client's session has not changed since before the node was made. No read
// proves as much, as a server that lags behind answers it.
func (c *contender) alive() bool {
	return c.owner != 0 && c.owner == c.client.SessionID() && time.Since(c.created) < c.validity/2
}

// create makes the contender's node, or finds the one that an earlier request made whose reply was
// lost.
func (c *contender) create() error {
	if c.wanted() != nil {
		return errUnwanted
	}
	if c.uncertain {
		if err := c.find(); err != nil || c.node != "" {
			return err
		}
		if c.wanted() != nil {
			return errUnwanted // It may have been given up meanwhile.
		}
	}
	c.uncertain = true
	session, asked := c.client.SessionID(), time.Now()
	if !c.hinting {
		c.along = c.listAlong()
	}
	node, err := c.client.Create(c.prefix, record{Metadata: c.metadata}.encode(),
		zk.FlagEphemeral|zk.FlagSequence, c.acl)
	switch {
	case err == nil:
		// The name alone counts: a client that puts a prefix before every path may return it with
		// or without.
		c.node, c.uncertain = c.at(node[strings.LastIndexByte(node, '/')+1:]), false
		c.created, c.seen = asked, asked
		// If the client's session is still this one, the node was made in it: no session comes
		// back.
		c.owner = session
	case errors.Is(err, zk.ErrNoNode):
		c.uncertain, c.hinting = false, false
		return c.createParents(c.path)
	case refused(err), errors.Is(err, zk.ErrNoServer): // The client has not sent it.
		c.uncertain = false
	default:
		c.doubted, c.spoilt, c.hinting = true, true, false
	}
	return err
}

// listAlong lists the contenders while the caller goes on to ask for its node. Sent one after the
// other, without waiting in between, the two take no more time than one: a server handles the
// requests of a connection in the order in which they come. Should they be sent the other way
// round, the node will not be in the listing.
func (c *contender) listAlong() <-chan listing {
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
		if err := c.createParents(parent); err != errAgain {
			return err
		}
		err = c.createDirectory(directory)
	}
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return err
	}
	return errAgain
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

// find looks for nodes that hold the contender's GUID. One that belongs to the current session
// becomes the contender's; all others are removed. What was sent before is settled first, because a
// server that lags may not know the node yet.
func (c *contender) find() error {
	if err := c.settle(); err != nil {
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
			c.removal = fmt.Errorf("lock: the node could not be removed: %w", err)
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
		return c.find()
	}
	first := c.deleting == 0
	if first {
		c.deleting = c.client.SessionID()
	}
	err := c.releaseNode()
	switch {
	case isNoNode(err) && (first || c.client.SessionID() != c.deleting):
		// In a later session nothing tells whether an earlier request has removed the node, or the
		// end of its session.
		c.removal = errNodeGone
	case err != nil && !isNoNode(err):
		c.spoilt = true
		return err
	case err == nil:
		c.leaveHint()
	}
	c.observe(Event{Kind: Removed})
	c.node = ""
	c.granted = false // What comes now has not had its turn.
	// A request that was taken for lost may have been carried out late, and made a second node.
	c.uncertain, c.doubted = c.uncertain || c.doubted, false
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

// wanted returns errUnwanted once the lock is no longer wanted.
func (c *contender) wanted() error {
	select {
	case <-c.unwanted:
		return errUnwanted
	default:
		return nil
	}
}

// pause waits before a request is tried again.
func (c *contender) pause(err error) error {
	if err == errAgain {
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
	case <-c.unwanted:
	}
	return c.wanted() // Both may have been ready.
}

// closed tells whether the client was closed by its owner. go-zookeeper/zk says so to watches only:
// calls fail with ErrConnectionClosed, as after a lost connection. But a client that is open tries
// to connect again at once, and its calls wait for that. So one whose every call fails at once, for
// longer than any session lasts, has been closed. A [Session] knows.
func (c *contender) closed(err error) bool {
	if c.shut || c.session != nil {
		return c.shut || c.session.isClosed()
	}
	if c.client.State() != zk.StateDisconnected || !errors.Is(err, zk.ErrConnectionClosed) {
		return false
	}
	now := time.Now()
	if now.Sub(c.muteLast) > max(c.timeout/2, 2*c.retryAfter) {
		c.muteSince = now // A call took its time in between, as those of a closed client do not.
	}
	c.muteLast = now
	return now.Sub(c.muteSince) > 2*c.timeout
}

func isNoNode(err error) bool { return errors.Is(err, zk.ErrNoNode) }
