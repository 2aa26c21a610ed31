package lock

import (
	"errors"
	"time"

	"github.com/go-zookeeper/zk"
)

// errForfeited ends a step of an attempt that must give up its place in the queue.
var errForfeited = errors.New("lock: the contender must not stay at the head of the queue")

// othersKey is the key of a context that is set where the caller may hold other locks. A contender
// that forfeits its place then fails, so that its caller can unlock those.
type othersKey struct{}

// late notes that ZooKeeper has taken too long to answer for a grant, since the given time. A
// contender that spends a session timeout so forfeits its place: others could hold the lock. The
// caller does not count requests that have begun without a connection: others may have lost theirs
// too, or the session ends.
func (c *contender) late(since time.Time) error {
	c.observe(Event{Kind: Retried, Err: errTooSlow})
	if c.tooLate += time.Since(since); c.tooLate < c.timeout {
		return errRestart
	}
	return errForfeited
}

// forfeit gives up the place, for the given reason: it removes the node, so that the attempt begins
// anew. It returns an error if ZooKeeper refuses the removal or the client is closed.
func (c *contender) forfeit(why error) error {
	c.observe(Event{Kind: Forfeited, Err: why})
	c.forfeits = true
	defer func() { c.forfeits = false }()
	c.remove()
	if c.node != "" || c.uncertain {
		c.node, c.uncertain = "", false // It was abandoned.
		if refused(c.removalErr) {
			return c.removalErr
		}
		return zk.ErrClosing
	}
	c.nodeState, c.waited, c.deleteSession, c.removalErr = nodeState{}, false, 0, nil
	clear(c.watches)
	return nil
}
