package model

import (
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client/internal/library"
)

func (e end) Key() uint64 {
	c := e.conn
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

func (c *Conn) stateHash() uint64 {
	now := c.cluster.Now()
	h := uint64(c.phase) | uint64(c.host)<<8 | uint64(c.lastHost)<<16 |
		uint64(c.credentialsSent)<<24 | hash64.Bit(c.closing)<<32 | uint64(c.rearmTiming)<<40
	h = hash64.Mix(hash64.Mix(h, uint64(c.SessionID())), uint64(len(c.credentials)))
	switch {
	case c.phase == library.Dialing:
		h = hash64.Mix(h, uint64(c.dialAt-now))
	case c.keepalive.ReadDeadline > 0:
		h = hash64.Mix(h, uint64(c.keepalive.ReadDeadline-now))
	}
	// The times that matter once pings are no longer answered.
	every := simzk.PingInterval(c.cluster.SessionTimeout())
	h = hash64.Mix(h, hash64.Bit(c.keepalive.PingsStopped)|uint64(min(now-c.keepalive.ReceivedAt,
		every))<<1^uint64((now-c.keepalive.PingStart)%every)<<32)
	if latency := c.RoundTrip(); latency > 0 { // Which answers have come matters.
		h = hash64.Mix(h, uint64(min(now-c.keepalive.PingStart, every+latency)))
		h = hash64.Mix(h, uint64(min(now-c.keepalive.ReceivedAt, 2*every)))
		h = hash64.Mix(h, uint64(min(now-c.keepalive.StoppedAt, latency)))
		h = hash64.Mix(h, uint64(min(now-c.keepalive.SettledAt, every+latency)))
		h = hash64.Mix(h, uint64(min(now-c.keepalive.AnsweredAt, 2*every)))
	}
	if c.keepalive.PingUnanswered(now, c.cluster.SessionTimeout()) {
		h = hash64.Mix(h, 1)
	}
	for _, calls := range [...][]*call{c.submitted, c.unsent, c.inFlight} {
		for _, r := range calls {
			h = hash64.Mix(hash64.Mix(h, r.StateHash()), uint64(c.stub.callIndex(r)))
		}
		h = hash64.Mix(h, uint64(len(calls)))
	}
	if c.cluster.Servers() > 1 {
		h = hash64.Mix(h, uint64(c.lastZxid))
	}
	for i := range c.watchers {
		h = hash64.Mix(h, c.watcherHash(&c.watchers[i]))
	}
	return h
}

// watcherHash covers the client's last zxid only as far as it decides which events the client gets
// when it sets its watches again: whether the watched nodes have changed since.
func (c *Conn) watcherHash(w *watcher) uint64 {
	h := hash64.Mix(xxhash.Sum64String(w.path), uint64(w.kind))
	for i := range w.channels {
		h = hash64.Mix(h, uint64(slices.Index(c.stub.watches, w.channels[i].number)))
	}
	if stat, ok := c.cluster.Tree().Stat(w.path); ok {
		h = hash64.Mix(h,
			1+2*hash64.Bit(stat.Mzxid > c.lastZxid)+hash64.Bit(stat.Pzxid > c.lastZxid))
	}
	return h
}
