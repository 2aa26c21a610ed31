package simzk

import (
	"time"

	"github.com/interlock-sim/interlock/history"
)

// A stall is what keeps a client, or its messages, from going on without its connection being
// broken.
type stall struct {
	stallRequests bool // what the client sends does not reach the server
	stallReplies  bool // what the server sends does not reach the client
	paused        bool
	disconnected  bool          // while it was paused, its connection broke
	resumeAt      time.Duration // at the latest; only while paused
}

// StallRequests keeps all that the client sends, its pings too, from reaching the server, until
// [Cluster.Heal]. What the server sends still reaches the client, but there are no answers to pings
// among it; so the client gives the connection up in the end.
func (c *Cluster) StallRequests(l *Link) {
	if !l.stalled() {
		l.end.pingsStalled()
	}
	l.stallRequests = true
	if l.session != nil && l.session.link == l {
		c.markUnreachable(l.session)
	}
}

// StallReplies keeps all that the server sends from reaching the client, until [Cluster.Heal]. What
// the client sends, its pings too, still reaches the server, so that its session lives; but it
// hears of no answer, and gives the connection up in the end.
func (c *Cluster) StallReplies(l *Link) {
	if !l.stalled() {
		l.end.pingsStalled()
	}
	l.stallReplies = true
}

// releaseStalled lets everything pass that was held. The pings that waited are answered.
func (c *Cluster) releaseStalled(l *Link) {
	if !l.stalled() {
		return
	}
	l.stallRequests, l.stallReplies = false, false
	c.resumeKeepalive(l)
	if !l.crashed.Load() {
		l.end.pingsResumed()
	}
}

// resumeKeepalive notes that the server hears of the client again, if it has a connection still.
func (c *Cluster) resumeKeepalive(l *Link) {
	if s := l.session; s != nil && s.link == l && s.unreachable && !l.pingsBlocked() &&
		(!c.config.Lag || c.leaderConnected(l.server)) {
		c.attach(s, l)
	}
}

func (l *Link) stalled() bool { return l.stallRequests || l.stallReplies }

// pingsBlocked tells whether the client's pings do not reach the server, although it has its connection.
func (l *Link) pingsBlocked() bool { return l.stallRequests || l.paused }

// Stalled tells whether messages of the client are kept, in the direction of the server or in that
// of the client.
func (l *Link) Stalled() (requests, replies bool) { return l.stallRequests, l.stallReplies }

// IsModel tells whether the client is a [Conn].
func (l *Link) IsModel() bool {
	_, modelled := l.end.(*Conn)
	return modelled
}

// CanPause tells whether [Cluster.Pause] can be done to the client. The goroutines of the real
// client go by the clock of their bubble, which cannot be stopped for one client alone.
func (l *Link) CanPause() bool { return l.IsModel() && !l.paused && !l.crashed.Load() }

// Pause stops the client's process, as a long garbage collection does, until [Cluster.Resume],
// which happens by itself when so much time has passed: it gets nothing delivered, it sends
// nothing, not even a ping, and it does not notice that its connection breaks. What its goroutines
// do meanwhile because a timer fires has no effect before it resumes.
func (c *Cluster) Pause(l *Link, most time.Duration) {
	l.paused, l.resumeAt = true, c.now+most
	if l.session != nil && l.session.link == l {
		c.markUnreachable(l.session)
	}
}

// Resume lets a paused process go on. It pings at once.
func (c *Cluster) Resume(l *Link) {
	l.paused = false
	c.record(history.Event{At: c.now, Kind: history.Resumed, Process: l.process})
	if l.crashed.Load() {
		return
	}
	c.resumeKeepalive(l)
	if l.disconnected {
		l.disconnected = false
		if l.end.connected() {
			l.end.disconnected()
		}
	}
	l.end.collect()
	l.advance()
}

// Paused tells whether the client's process is paused. It may be called only while the process is
// blocked.
func (l *Link) Paused() bool { return l.paused && !l.crashed.Load() }

// SetClientClock makes the client's clock go at so many percent of the leader's, as far as its
// sessions are concerned: all processes share the virtual time, so it is the leader that takes the
// timeouts of this client for shorter or longer.
func (c *Cluster) SetClientClock(l *Link, percent int) { l.percent = percent }

// clockRate returns at how many percent of the leader's the client's clock goes.
func (l *Link) clockRate() int {
	if l.percent == 0 {
		return 100
	}
	return l.percent
}

// ClientClock returns at how many percent of the leader's the client's clock goes.
func (l *Link) ClientClock() int { return l.clockRate() }

// deadline returns when the client does something by itself, and false if it will not.
func (l *Link) deadline() (time.Duration, bool) {
	switch {
	case l.crashed.Load():
		return 0, false
	case l.paused:
		return l.resumeAt, true
	}
	return l.end.deadline()
}

// advance lets the client do what was due by now.
func (l *Link) advance() {
	switch {
	case l.crashed.Load():
	case !l.paused:
		l.end.advance()
	case l.resumeAt <= l.cluster.now:
		l.cluster.Resume(l)
	}
}

func (h *stall) key(now time.Duration) uint64 {
	key := uint64(btoi(h.stallRequests)<<3 | btoi(h.stallReplies)<<2 | btoi(h.paused)<<1 | btoi(h.disconnected))
	if h.paused {
		key = mix(key, uint64(h.resumeAt-now))
	}
	return key
}
