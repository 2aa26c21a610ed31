package model

import (
	"time"

	"github.com/interlock-sim/interlock/internal/hash64"
	"github.com/interlock-sim/interlock/simzk/client/internal/library"
	"github.com/interlock-sim/interlock/simzk/wire"
)

func (c *Conn) connected() bool {
	return c.phase != library.Dialing && c.phase != library.Terminated
}

func (c *Conn) pending() *wire.Request {
	for _, r := range c.inFlight {
		if r.done != nil {
			return &r.Request
		}
	}
	return nil
}

func (c *Conn) deadline() (time.Duration, bool) {
	if c.phase == library.Dialing {
		return c.dialAt, true
	}
	return c.keepalive.ReadDeadline, c.keepalive.ReadDeadline > 0
}

func (c *Conn) pingsStalled() {
	c.keepalive.StopPings(c.phase == library.Connected, c.cluster.Now(), c.cluster.SessionTimeout())
}

func (c *Conn) pingsResumed() {
	c.keepalive.ResumePings(c.phase == library.Connected, c.cluster.Now(),
		c.cluster.SessionTimeout())
}

func (c *Conn) advance() {
	switch at, waits := c.deadline(); {
	case !waits || at > c.cluster.Now():
	case c.phase != library.Dialing:
		c.cluster.ResetConnection(c.Link)
	case !c.dial():
		c.redial()
	}
}

func (c *Conn) key() uint64 {
	key := hash64.Fold(hash64.Fold(c.receivedHash, c.sentHash),
		uint64(c.rearmTiming)<<32|uint64(len(c.unsent))<<8|uint64(c.phase))
	switch {
	case c.phase == library.Dialing:
		key = hash64.Fold(key, uint64(c.dialAt-c.cluster.Now()))
	case c.phase != library.Connecting && c.keepalive.ReadDeadline > 0:
		key = hash64.Fold(key, uint64(c.keepalive.ReadDeadline-c.cluster.Now()))
	}
	if len(c.watchers) > 0 {
		key = hash64.Fold(key, c.watchersKey())
	}
	return key
}

// watchersKey returns 64 bits over the pending watches. The client's last zxid matters only if it
// has to set its watches again, and then only as far as the watched nodes have changed since.
func (c *Conn) watchersKey() uint64 {
	tree := c.cluster.Tree().Hash()
	if k := &c.keyCache; k.valid && k.tree == tree && k.lastZxid == c.lastZxid {
		return k.key
	}
	key := uint64(0)
	for i := range c.watchers {
		w := &c.watchers[i]
		changed := uint64(0)
		if data, children, ok := c.cluster.Tree().LastChanges(w.path); ok {
			changed = 1 + 2*hash64.Bit(data > c.lastZxid) + 4*hash64.Bit(children > c.lastZxid)
		}
		key = hash64.Fold(key, w.hash+uint64(w.kind)<<3+changed)
	}
	c.keyCache = watchersKeyCache{key: key, tree: tree, lastZxid: c.lastZxid, valid: true}
	return key
}
