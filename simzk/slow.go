package simzk

import (
	"time"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// A slowness is what makes the messages between a client and its servers late.
type slowness struct {
	requestLatency time.Duration // of what the client sends
	replyLatency   time.Duration // of what the client receives
	opening        bool          // the answer to the next handshake waits for [Cluster.Heal]
}

// SlowLink gives the messages of a client, and those to it, a latency from now on, unless it is 0.
// Nothing ends that. Messages in transit keep their times. Pings reach the server later too. The
// client must be neither paused nor stalled, and its server not paused.
//
// The client gets the answers to its pings in time as long as a round trip is shorter than
// [PingInterval], as it must be: a client that pings for the first time then has the answer before
// its read timeout, which is two intervals.
func (c *Cluster) SlowLink(l *Link, requests, replies time.Duration) {
	l.each(func(l *Link) {
		l.end.LatencyChanges()
		if s := l.session; requests > 0 && s != nil && s.link == l && s.pingStart != noPing {
			c.slowPings(s, l.server, requests)
		}
		l.requestLatency = max(l.requestLatency, requests)
		l.replyLatency = max(l.replyLatency, replies)
	})
}

// slowPings makes the next pings of a client arrive later, and accounts for those that have.
func (c *Cluster) slowPings(s *session, server int, latency time.Duration) {
	next := s.pingStart
	if next <= c.now {
		next = LastPing(next, c.now, s.timeout) + PingInterval(s.timeout)
	}
	if !s.local && c.cutOff(server) {
		c.settle(s, server)
	} else {
		c.notePings(s)
	}
	s.pingStart = next + latency
}

// Slow reports whether messages from the client, and to it, take time.
func (l *Link) Slow() (requests, replies bool) { return l.requestLatency > 0, l.replyLatency > 0 }

// RoundTrip returns how long a request and its reply are in transit.
func (l *Link) RoundTrip() time.Duration { return l.requestLatency + l.replyLatency }

// InTransit reports whether the next message in a direction is still on its way.
func (l *Link) InTransit() bool {
	_, moves := l.arrival()
	return moves
}

// arrival returns when the next message arrives that is on its way, and false if none is.
func (l *Link) arrival() (at time.Duration, ok bool) {
	if l.RoundTrip() == 0 {
		return 0, false
	}
	now := l.cluster.now
	if len(l.toServer) > 0 && l.toServer[0].arrives > now {
		at, ok = l.toServer[0].arrives, true
	}
	if len(l.toClient) > 0 && l.toClient[0].arrives > now {
		at, ok = earlier(at, ok, l.toClient[0].arrives)
	}
	return at, ok
}

// SlowOpen holds the answer to the client's handshake, the present or the next one, back until
// [Cluster.Heal], as a server does that waits for its leader to confirm the session
// (Learner.validateSession). The session's timeout runs from the moment when the leader has
// confirmed it: the client pings only once it has the answer.
func (c *Cluster) SlowOpen(l *Link) { l.opening = true }

// CanSlowOpen reports whether [Cluster.SlowOpen] applies: the client is about to dial, or its
// handshake is on its way to the server.
func (l *Link) CanSlowOpen() bool {
	if l.opening || l.crashed.Load() {
		return false
	}
	if l.end.Connected() {
		return len(l.toServer) > 0 && l.toServer[0].Op == wire.OpCreateSession &&
			!l.toServer[0].reopens
	}
	_, dials := l.end.Deadline()
	return dials
}

// Opening reports whether the answer to the client's handshake is held back now.
func (l *Link) Opening() bool { return l.opening && len(l.toClient) > 0 }

// slownessKey folds in the latencies, and when what is in transit arrives.
func (l *Link) slownessKey(key uint64) uint64 {
	now := l.cluster.now
	key = mix(mix(key, uint64(l.requestLatency)<<1|uint64(btoi(l.opening))), uint64(l.replyLatency))
	for _, r := range l.toServer {
		key = mix(key, uint64(max(0, r.arrives-now)))
	}
	for i := range l.toClient {
		key = mix(key, uint64(max(0, l.toClient[i].arrives-now)))
	}
	return key
}
