package simzk

import (
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// StateHash returns 64 bits over the state of the ensemble and the clients, without the code of the
// processes: with equal hashes, equal processes and equal decisions, futures are equal. Unlike
// [Cluster.Key] it covers the present, not the history: nodes, sessions, watches, messages in
// transit and what the clients wait for. Time counts only as far as something depends on the time
// until then.
//
// It omits two things:
//   - the order in which messages to different processes were sent, on which only a policy can
//     depend
//   - the creation and modification times of nodes
//
// An ensemble is steady if its caller will take no further step by which a server loses its leader.
func (c *Cluster) StateHash(steady bool) uint64 {
	key := mix(c.tree.StateHash(), uint64(c.zxid))
	key = mix(key, uint64(c.now%c.config.TickTime)<<16|uint64(uint16(c.lastSession)))
	if c.phases != (phases{}) {
		key = mix(mix(key, uint64(c.expiryPhase)), uint64(c.relayPhase))
	}
	for _, s := range c.sessions {
		key = mix(key, c.sessionHash(s))
	}
	for i := range c.servers {
		if s := &c.servers[i]; s.clock != trueClock || s.wallOffset != 0 {
			key = mix(mix(key, uint64(i)), uint64(s.clock.percent)+uint64(s.wallOffset))
			key = mix(key, uint64(s.clock.read(c.now)-c.now))
		}
	}
	key = mix(key, c.watches.stateHash())
	if c.config.Lag {
		key = mix(key, c.ensembleHash(steady))
		for i := range c.servers {
			for _, d := range c.servers[i].answers {
				missing := uint64(len(c.proposals) - d.applied)
				key = mix(key, uint64(uint32(d.link.process))<<32|missing)
				key = mix(key, d.request.StateHash())
			}
		}
	}
	for _, l := range c.links {
		key = mix(key, l.stateHash())
	}
	return key
}

// ensembleHash returns 64 bits over the state in which servers differ. The tree and the list of
// sessions cover what all servers have applied. The length of committed logs matters to elections
// only.
func (c *Cluster) ensembleHash(steady bool) uint64 {
	all, least := len(c.proposals), len(c.proposals)
	key := uint64(all-c.committed)<<16 | uint64(c.leader&0xff)<<8 | uint64(c.epoch)
	for i := range c.servers {
		s := &c.servers[i]
		logged, acknowledged := s.logged, s.acknowledged
		if steady {
			logged, acknowledged = max(logged, c.committed), max(acknowledged, c.committed)
		}
		key = mix(key, uint64(all-logged)<<40|uint64(all-acknowledged)<<20|uint64(all-s.applied))
		key = mix(mix(key, s.peerState.key(c.now)), uint64(s.zxid)<<1|uint64(btoi(s.up)))
		if c.pingWaits(&s.waiting) {
			key = mix(key, 1<<63)
		}
		if s.paused || s.noticesAt > 0 {
			key = mix(key, c.pauseKey(&s.peerState))
		}
		if s.diskStalled {
			key = mix(key, s.disk.key(all, c.now))
		}
		if s.applied < all {
			key = mix(key, s.tree.StateHash())
		}
		least = min(least, s.applied)
	}
	for i := least; i < all; i++ {
		key = mix(key, c.proposals[i].stateHash(c))
	}
	for _, s := range c.sessions {
		if s.link != nil {
			key = mix(mix(key, uint64(c.now-s.contactAt)), uint64(c.now-s.relayedAt))
		}
		if contacts := c.contactsKey(s); contacts != 0 {
			key = mix(key, contacts)
		}
		key = mix(key, uint64(s.lostEndEpoch))
	}
	return key
}

func (p *peerState) key(now time.Duration) uint64 {
	key := uint64(p.epoch)<<16 | uint64(p.following&0xff)<<8 | uint64(btoi(p.inboundCut)<<3|
		btoi(p.outboundCut)<<2|btoi(p.serving)<<1|btoi(p.leading))
	if p.giveUpAt > 0 {
		key = mix(key, uint64(max(0, p.giveUpAt-now))) // A pause can last longer.
	}
	return mix(key, p.inboundCutFrom)
}

// stateHash returns 64 bits over the effect of a proposal, or of its loss.
func (p *proposal) stateHash(c *Cluster) uint64 {
	if p.cachedHash == 0 && p.write != nil {
		w := p.write
		r := Exchange{Request: wire.Request{
			Op: w.Op, Path: w.Path, Data: w.Data, ACL: w.ACL, Flags: w.Flags, Version: w.Version,
			TTLMillis: w.TTLMillis, Ops: w.Ops,
		}}
		p.cachedHash = mix(r.StateHash(), uint64(w.Session)^uint64(uint32(w.NoEphemerals))) | 1
	}
	h := mix(mix(uint64(p.zxid), uint64(uint32(p.process))<<8|uint64(p.endKind)), p.cachedHash)
	for _, s := range [...]*session{p.opened, p.ended} {
		if s != nil {
			h = mix(mix(h, c.sessionHash(s)), uint64(s.lostEndEpoch))
		}
	}
	return h
}

func (c *Cluster) sessionHash(s *session) uint64 {
	h := mix(uint64(s.id), uint64(s.timeout))
	if s.local {
		h = mix(h, uint64(s.home))
	}
	if s.link != nil {
		h = mix(h, uint64(uint32(s.link.process))<<1|uint64(btoi(s.unreachable)))
	}
	if s.timingOut() {
		h = mix(h, uint64(c.clockOf(s).timeOf(s.expires)-c.now))
	}
	if s.link == nil {
		if s.unreachable && len(s.owner.toServer) > 0 { // See touchSession.
			h = mix(h, 1)
		}
		return h
	}
	if s.pingStart > c.now && (s.silent || s.link.requestLatency > 0) {
		// The client has yet to ping: older contacts matter, and the timeout may be over before.
		h = mix(mix(h, uint64(min(s.pingStart-c.now, s.timeout))), uint64(c.now-s.contactAt))
		h = mix(h, uint64(c.clockOf(s).timeOf(s.expires)-c.now)<<1|uint64(btoi(s.silent)))
	}
	// The input of detach and of resumeContact: the age of the last ping, and that of a later
	// request. ensembleHash covers the rest in an ensemble with lag.
	every := PingInterval(s.timeout)
	if s.pingWaits {
		h = mix(h, 2)
	}
	return mix(h, uint64((c.now-s.pingStart)%every)<<32^uint64(min(c.now-s.contactAt, every)))
}

// stateHash is independent of the order of the maps, and of the order in which watches on different
// paths were set, which has no effect.
func (t *watchTable) stateHash() uint64 {
	sum := uint64(0)
	for _, table := range [...]map[string][]*watch{t.data, t.child} {
		for path, watches := range table {
			at := xxhash.Sum64String(path)
			for _, w := range watches {
				sum += mix(at, uint64(uint32(w.link.process))<<16|uint64(w.kind)<<8|uint64(w.mode))
			}
		}
	}
	return sum
}

// stateHash of a crashed process's link covers what the server still has to do for it.
func (l *Link) stateHash() uint64 {
	h := uint64(l.state)<<8 | uint64(l.server)<<2 | uint64(btoi(l.replyDelayed))<<1 |
		uint64(btoi(l.crashed.Load()))
	if l.session != nil {
		h = mix(h, uint64(l.session.id))
	}
	if l.stall != (stall{}) || l.percent != 0 {
		h = mix(h, l.stall.key(l.cluster.now)<<8|uint64(l.percent))
	}
	if l.slowness != (slowness{}) {
		h = l.slownessKey(h)
	}
	if l.blocked != 0 {
		h = mix(h, l.blocked)
	}
	for _, r := range l.toServer {
		h = mix(h, r.StateHash())
	}
	for i := range l.toClient {
		m := &l.toClient[i]
		h = mix(mix(h, m.Hash()), uint64(m.Zxid))
	}
	for _, id := range l.identities[1:] {
		h = mix(mix(h, xxhash.Sum64String(id.Scheme)), xxhash.Sum64String(id.ID))
	}
	if l.model != nil && !l.crashed.Load() {
		h = mix(h, l.model.StateHash())
	}
	return h
}

// StateHash covers the content of a request as the server sees it, not its age or its number.
func (r *Exchange) StateHash() uint64 {
	if r.cachedHash != 0 {
		return r.cachedHash
	}
	h := requestHash(&r.Request, r.Session, r.LastZxid)
	if r.Op != wire.OpCreateSession { // The server overwrites the session of a handshake.
		r.cachedHash = h
	}
	return h
}

// requestHash returns 64 bits other than 0 over a request, which may be part of another one. The
// session and the zxid are those of a handshake.
func requestHash(r *wire.Request, session, lastZxid int64) uint64 {
	h := mix(uint64(2*int(r.Op)+btoi(r.Watch))<<32|uint64(uint32(r.Flags)),
		xxhash.Sum64String(r.Path))
	h = mix(mix(h, xxhash.Sum64(r.Data)), uint64(uint32(r.Version))^uint64(r.TTLMillis)<<32)
	h = mix(mix(h, uint64(session)), uint64(lastZxid))
	for _, a := range r.ACL {
		h = mix(h, xxhash.Sum64String(a.Scheme)^xxhash.Sum64String(a.ID)*3^uint64(a.Perms))
	}
	if r.Scheme != "" {
		h = mix(h, xxhash.Sum64String(r.Scheme))
	}
	for i := range r.Ops {
		h = mix(h, requestHash(&r.Ops[i], 0, 0))
	}
	if w := r.Watches; w != nil {
		h = mix(h, uint64(w.RelativeZxid))
		for _, paths := range [...][]string{w.Data, w.Exist, w.Child, w.Persistent, w.Recursive} {
			for _, path := range paths {
				h = mix(h, xxhash.Sum64String(path))
			}
			h = mix(h, uint64(len(paths)))
		}
	}
	return h | 1
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
