package simzk

import (
	"time"

	"github.com/interlock-sim/interlock/simzk/wire"
)

func (c *Conn) connected() bool { return c.phase != dialing && c.phase != terminated }

func (c *Conn) knownSession() int64 { return c.SessionID() }

func (c *Conn) pending() *wire.Request {
	for _, r := range c.inFlight {
		if r.done != nil {
			return &r.Request
		}
	}
	return nil
}

func (c *Conn) deadline() (time.Duration, bool) {
	if c.phase == dialing {
		return c.dialAt, true
	}
	return c.readDeadline, c.readDeadline > 0
}

func (c *Conn) pingsStalled() {
	c.stopPings(c.phase == connected, c.cluster.now, c.cluster.config.SessionTimeout)
}

func (c *Conn) pingsResumed() {
	c.resumePings(c.phase == connected, c.cluster.now, c.cluster.config.SessionTimeout)
}

func (c *Conn) advance() {
	switch at, waits := c.deadline(); {
	case !waits || at > c.cluster.now:
	case c.phase != dialing:
		c.cluster.closeConnection(c.Link)
	case !c.dial():
		c.redial()
	}
}

func (c *Conn) key() uint64 {
	key := fold(fold(c.receivedHash, c.sentHash),
		uint64(c.rearmTiming)<<32|uint64(len(c.unsent))<<8|uint64(c.phase))
	switch {
	case c.phase == dialing:
		key = fold(key, uint64(c.dialAt-c.cluster.now))
	case c.phase != connecting && c.readDeadline > 0:
		key = fold(key, uint64(c.readDeadline-c.cluster.now))
	}
	if len(c.watchers) > 0 {
		key = fold(key, c.watchersKey())
	}
	return key
}

// watchersKey returns 64 bits over the pending watches. The client's last zxid matters only if it
// has to set its watches again, and then only as far as the watched nodes have changed since.
func (c *Conn) watchersKey() uint64 {
	tree := c.cluster.tree.Hash()
	if k := &c.keyCache; k.valid && k.tree == tree && k.lastZxid == c.lastZxid {
		return k.key
	}
	key := uint64(0)
	for i := range c.watchers {
		w := &c.watchers[i]
		changed := uint64(0)
		if data, children, ok := c.cluster.tree.LastChanges(w.path); ok {
			changed = 1 + 2*uint64(btoi(data > c.lastZxid)) + 4*uint64(btoi(children > c.lastZxid))
		}
		key = fold(key, w.hash+uint64(w.kind)<<3+changed)
	}
	c.keyCache = watchersKeyCache{key: key, tree: tree, lastZxid: c.lastZxid, valid: true}
	return key
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
