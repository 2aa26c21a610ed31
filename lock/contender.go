package lock

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// A contender is one attempt at the lock. Its goroutine is the only one that makes, watches and removes the attempt's
// node, from the first request to the last, so that no exit can leave the node behind.
type contender struct {
	mutex  *Mutex
	guid   string
	prefix string // of the path of every node that the contender makes

	retryAfter time.Duration // the pause before a request that failed is tried again

	unwanted    chan struct{} // closed when the lock is no longer wanted: cancelled or unlocked
	dismissOnce sync.Once
	outcome     chan outcome  // receives once
	gone        chan struct{} // closed when the node has been removed

	node      string    // the path of the node, empty while there is none
	uncertain bool      // a request to create a node may have been carried out
	doubted   bool      // that was so at any time of the attempt
	muteSince time.Time // when the client was first found closed, as far as one can tell
	muteLast  time.Time // when it was last
	deleting  bool      // a request to delete the node was sent
	removal   error     // why the node could not be removed, or was gone before; good once gone is closed
}

type outcome struct {
	lease *Lease
	err   error
}

// What ends a step of an attempt.
var (
	errUnwanted = errors.New("lock: no longer wanted")
	errDisowned = errors.New("lock: the node is gone, or belongs to another session")
)

// retryPause is the time between two tries of a request that failed, to which each contender adds up to 66 ms of its
// own: those that a lost connection has failed together shall not come back together.
const retryPause = 100 * time.Millisecond

func newContender(m *Mutex) (*contender, error) {
	var guid [guidLength / 2]byte
	m.randomMu.Lock()
	_, err := io.ReadFull(m.random, guid[:])
	m.randomMu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("lock: reading randomness for a GUID: %w", err)
	}
	name := hex.EncodeToString(guid[:])
	return &contender{
		mutex: m, guid: name, retryAfter: retryPause + time.Duration(binary.BigEndian.Uint16(guid[:]))*time.Microsecond, prefix: m.path + "/" + namePrefix + name + nameInfix,
		unwanted: make(chan struct{}), outcome: make(chan outcome, 1), gone: make(chan struct{}),
	}, nil
}

// dismiss tells the contender that the lock is no longer wanted.
func (c *contender) dismiss() { c.dismissOnce.Do(func() { close(c.unwanted) }) }

// run is the contender's goroutine.
func (c *contender) run() {
	defer close(c.gone)
	lease, events, confirmed, err := c.acquire()
	if err != nil {
		// The node goes first: a caller that hears of the failure may try again at once, and would queue behind it.
		// One that has stopped waiting is not kept.
		c.remove()
		c.outcome <- outcome{err: err}
		return
	}
	c.outcome <- outcome{lease: lease}
	c.hold(lease, events, confirmed)
	c.remove()
}

// acquire makes a node and waits until it is the first. It returns the lease, the watch on the contender's own node,
// and when the request was sent that confirmed the node.
func (c *contender) acquire() (*Lease, <-chan zk.Event, time.Time, error) {
	for {
		lease, events, confirmed, err := c.attempt()
		switch {
		case err == nil, err == errUnwanted, refused(err):
			return lease, events, confirmed, err
		case err == errDisowned:
			// The session was lost, or somebody removed the node: a new node queues at the end.
			c.node = ""
		}
		if err != errDisowned {
			if err := c.pause(err); err != nil {
				return nil, nil, time.Time{}, err
			}
		}
	}
}

// attempt goes as far as it can without an error. What it has reached, a node, is kept for the next attempt.
func (c *contender) attempt() (lease *Lease, events <-chan zk.Event, confirmed time.Time, err error) {
	if c.node == "" {
		if err := c.create(); err != nil {
			return nil, nil, confirmed, err
		}
	}
	ahead, err := c.listAhead()
	if err == nil {
		err = c.waitFor(ahead)
	}
	if err != nil {
		return nil, nil, confirmed, err
	}
	confirmed = time.Now()
	stat, events, err := c.confirmWatched()
	if err != nil {
		return nil, nil, confirmed, err
	}
	lease = &Lease{contender: c, node: c.node, token: stat.Czxid, done: make(chan struct{})}
	return lease, events, confirmed, nil
}

// create makes the contender's node, or finds the one that an earlier request made whose reply was lost.
func (c *contender) create() error {
	if c.wanted() != nil {
		return errUnwanted
	}
	if c.uncertain {
		if err := c.find(); err != nil || c.node != "" {
			return err
		}
	}
	c.uncertain = true
	node, err := c.mutex.client.Create(c.prefix, nil, zk.FlagEphemeral|zk.FlagSequence, c.mutex.acl)
	switch {
	case err == nil:
		c.node, c.uncertain = node, false
	case errors.Is(err, zk.ErrNoNode):
		c.uncertain = false
		return c.createParents(c.mutex.path)
	case refused(err):
		c.uncertain = false
	default:
		c.doubted = true
	}
	return err
}

// createParents makes the directory of the lock. It returns an error that makes the attempt start over even where
// nothing failed, because the node itself is still to be made.
func (c *contender) createParents(directory string) error {
	_, err := c.mutex.client.Create(directory, nil, 0, c.mutex.acl)
	if parent := directory[:strings.LastIndexByte(directory, '/')]; errors.Is(err, zk.ErrNoNode) && parent != "" {
		if err := c.createParents(parent); err != errAgain {
			return err
		}
		_, err = c.mutex.client.Create(directory, nil, 0, c.mutex.acl)
	}
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return err
	}
	return errAgain
}

// find looks for nodes that hold the contender's GUID. One that belongs to the current session becomes the
// contender's; all others are removed. Sync comes first, because a server that lags may not know the node yet.
func (c *contender) find() error {
	entries, err := c.list(true)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.guid != c.guid {
			continue
		}
		path := c.mutex.path + "/" + e.name
		exists, stat, err := c.mutex.client.Exists(path)
		if err != nil {
			return err
		}
		if exists && c.node == "" && stat.EphemeralOwner == c.mutex.client.SessionID() {
			c.node = path
			continue
		}
		if err := c.delete(path); err != nil {
			return err
		}
	}
	c.uncertain = false
	return nil
}

// list returns the contenders in the directory, in no order. A directory that is not there has none.
func (c *contender) list(sync bool) ([]entry, error) {
	if sync {
		if _, err := c.mutex.client.Sync(c.mutex.path); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return nil, err
		}
	}
	names, _, err := c.mutex.client.Children(c.mutex.path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries := make([]entry, 0, len(names))
	for _, name := range names {
		if e, ok := parseEntry(name); ok {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// listAhead returns the paths of the contenders that stand before this one, the first of them first. Whoever comes
// later stands behind, so none need be looked for that is not in this list.
func (c *contender) listAhead() ([]string, error) {
	entries, err := c.list(false)
	if err != nil {
		return nil, err
	}
	if !numbersTell(entries) {
		if entries, err = c.withCzxids(entries); err != nil {
			return nil, err
		}
	}
	sortEntries(entries)
	ahead := make([]string, 0, len(entries))
	for _, e := range entries {
		if e.name == c.node[len(c.mutex.path)+1:] {
			return ahead, nil
		}
		path := c.mutex.path + "/" + e.name
		if e.guid == c.guid {
			// A second node of this contender: a request that was taken for lost has been carried out after all.
			if err := c.delete(path); err != nil {
				return nil, err
			}
			continue
		}
		ahead = append(ahead, path)
	}
	return nil, errDisowned
}

// withCzxids asks for the transaction that created each node, and leaves out those that are gone by now.
func (c *contender) withCzxids(entries []entry) ([]entry, error) {
	standing := entries[:0]
	for _, e := range entries {
		exists, stat, err := c.mutex.client.Exists(c.mutex.path + "/" + e.name)
		if err != nil {
			return nil, err
		}
		if exists {
			e.czxid = stat.Czxid
			standing = append(standing, e)
		}
	}
	return standing, nil
}

// waitFor waits until none of the nodes stands any more. It watches the nearest. When that goes and there were others
// before it, the contender lists again: one that gives up does not make way for those behind it, only for the one
// before.
func (c *contender) waitFor(ahead []string) error {
	for len(ahead) > 0 {
		if c.wanted() != nil {
			return errUnwanted
		}
		// Get and not Exists, which would leave a watch behind on a node that is gone and never comes back.
		_, _, events, err := c.mutex.client.GetW(ahead[len(ahead)-1])
		if errors.Is(err, zk.ErrNoNode) {
			ahead = ahead[:len(ahead)-1]
			continue
		}
		if err != nil {
			return err
		}
		select {
		case event := <-events:
			if event.Err != nil {
				// The watch is dead, and with it perhaps the session and the contender's own node.
				return c.confirm()
			}
			if event.Type == zk.EventNodeDeleted {
				ahead = ahead[:len(ahead)-1]
				if len(ahead) > 0 {
					return errAgain
				}
			}
		case <-c.unwanted:
			return errUnwanted
		}
	}
	return c.wanted()
}

// confirm returns a nil error only together with a reason to list again: it says whether the contender's own node
// still stands.
func (c *contender) confirm() error {
	exists, stat, err := c.mutex.client.Exists(c.node)
	if err != nil {
		return err
	}
	if !exists || stat.EphemeralOwner != c.mutex.client.SessionID() {
		return errDisowned
	}
	return errAgain
}

// errAgain makes an attempt list the contenders again.
var errAgain = errors.New("lock: again")

// confirmWatched verifies that the contender's own node stands and belongs to the current session, and watches it.
func (c *contender) confirmWatched() (*zk.Stat, <-chan zk.Event, error) {
	_, stat, events, err := c.mutex.client.GetW(c.node)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil, errDisowned
	}
	if err != nil {
		return nil, nil, err
	}
	if stat.EphemeralOwner != c.mutex.client.SessionID() {
		return nil, nil, errDisowned
	}
	return stat, events, nil
}

// hold keeps watch over the node of a lock that is held until it is unlocked or lost. Every confirmation puts the
// expiry off. It counts from the moment in which the request was sent: the server heard of the session no earlier. The
// expiry has a timer of its own, because a request may take for ever.
func (c *contender) hold(lease *Lease, events <-chan zk.Event, confirmed time.Time) {
	deadline := confirmed.Add(c.mutex.validity)
	expiry := time.AfterFunc(time.Until(deadline), func() { lease.end(errUnconfirmed) })
	defer expiry.Stop()
	confirmEvery := c.mutex.timeout / 3
	timer := time.NewTimer(confirmEvery)
	defer timer.Stop()
	for {
		select {
		case <-c.unwanted:
			return
		case <-lease.done:
			return
		case <-events:
			events = nil
		case <-timer.C:
		}
		asked := time.Now()
		if !asked.Before(deadline) {
			lease.end(errUnconfirmed) // The two timers may fire in the same instant.
			return
		}
		var err error
		if events == nil {
			_, events, err = c.confirmWatched()
		} else if err = c.confirm(); err == errAgain {
			err = nil
		}
		switch {
		case err == errDisowned:
			lease.end(errNodeGone)
			return
		case refused(err):
			lease.end(fmt.Errorf("%w: its node can not be confirmed: %w", ErrLost, err))
			return
		case err == nil:
			deadline = asked.Add(c.mutex.validity)
			expiry.Reset(time.Until(deadline))
			timer.Reset(confirmEvery)
		default:
			timer.Reset(c.retryAfter)
		}
	}
}

// remove makes sure that no node of the contender is left. It goes on until ZooKeeper has confirmed it, or has refused
// it, or the client was closed: then the session is over, or soon will be.
func (c *contender) remove() {
	for c.node != "" || c.uncertain {
		err := c.removeOnce()
		if err != nil && (refused(err) || c.closed(err)) {
			c.removal = fmt.Errorf("lock: the node could not be removed: %w", err)
			return
		}
		if err != nil {
			time.Sleep(c.retryAfter)
		}
	}
}

func (c *contender) removeOnce() error {
	if c.node == "" {
		return c.find()
	}
	err := c.mutex.client.Delete(c.node, -1)
	first := !c.deleting
	c.deleting = true
	switch {
	case errors.Is(err, zk.ErrNoNode) && first:
		c.removal = errNodeGone
	case err != nil && !errors.Is(err, zk.ErrNoNode):
		return err
	}
	c.node = ""
	// A request that was taken for lost may have been carried out late, and made a second node.
	c.uncertain, c.doubted = c.uncertain || c.doubted, false
	return nil
}

// delete deletes a node. One that is gone already counts as deleted.
func (c *contender) delete(path string) error {
	if err := c.mutex.client.Delete(path, -1); !errors.Is(err, zk.ErrNoNode) {
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
	if c.closed(err) {
		return zk.ErrClosing
	}
	timer := time.NewTimer(c.retryAfter)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-c.unwanted:
		return errUnwanted
	}
}

// closed tells whether the client was closed by its owner. go-zookeeper/zk does not say so: calls fail with
// ErrConnectionClosed, as after a lost connection. But a client that is open tries to connect again at once, and its
// calls wait for that. So one whose every call fails at once, for longer than any session lasts, has been closed.
func (c *contender) closed(err error) bool {
	if c.mutex.client.State() != zk.StateDisconnected || !errors.Is(err, zk.ErrConnectionClosed) {
		return false
	}
	now := time.Now()
	if now.Sub(c.muteLast) > max(c.mutex.timeout/2, 2*c.retryAfter) {
		c.muteSince = now // A call took its time in between, as those of a closed client do not.
	}
	c.muteLast = now
	return now.Sub(c.muteSince) > 2*c.mutex.timeout
}
