package simzk

import (
	"time"

	"github.com/interlock-sim/interlock/history"
)

// A stall is what delays a client or its messages without breaking the connection.
type stall struct {
	stallRequests bool // the client's messages do not reach the server
	stallReplies  bool // the server's messages do not reach the client
	paused        bool
	held          bool          // connected to a server that is paused
	behindWrite   bool          // pings wait behind a reply that waits for a disk
	disconnected  bool          // the connection broke while the client was paused
	resumeAt      time.Duration // at the latest; only while paused
}

// StallRequests delays all messages from the client to the server, pings included, until
// [Cluster.Heal]. Messages from the server still arrive, but no replies to pings among them, so the
// client eventually closes the connection.
func (c *Cluster) StallRequests(l *Link) {
	l.each(func(l *Link) {
		l.stopPings()
		if l.session != nil && l.session.link == l {
			c.markUnreachable(l.session)
		}
		l.stallRequests = true
	})
}

// StallReplies delays all messages from the server to the client, until [Cluster.Heal]. The
// client's messages, pings included, still arrive, so that its session stays alive; but the client
// receives no reply, and eventually closes the connection.
func (c *Cluster) StallReplies(l *Link) {
	l.each(func(l *Link) {
		l.stopPings()
		l.stallReplies = true
	})
}

// releaseStalled releases the stalled messages. Waiting pings are answered.
func (c *Cluster) releaseStalled(l *Link) {
	if !l.stalled() {
		return
	}
	l.stallRequests, l.stallReplies = false, false
	c.resumeKeepalive(l)
	l.resumePings()
}

// stopPings tells the client's end that pings are not answered from now on, unless they already
// are not. The caller then notes why.
func (l *Link) stopPings() {
	if !l.stalled() && !l.held && !l.behindWrite {
		l.end.PingsStalled()
	}
}

// resumePings tells the client's end that pings are answered again, unless they wait for something
// else.
func (l *Link) resumePings() {
	if !l.stalled() && !l.held && !l.behindWrite && !l.crashed.Load() {
		l.end.PingsResumed()
	}
}

// resumeKeepalive notes that the server hears from the client again, if it still has a connection.
func (c *Cluster) resumeKeepalive(l *Link) {
	if s := l.session; s != nil && s.link == l && s.unreachable && !l.pingsBlocked() {
		c.resumeContact(s)
	}
}

func (l *Link) stalled() bool { return l.stallRequests || l.stallReplies }

// pingsBlocked reports whether the client's pings do not reach the server although there is a
// connection.
func (l *Link) pingsBlocked() bool { return l.stallRequests || l.paused || l.held }

// Stalled reports whether messages to the server, and to the client, are stalled.
func (l *Link) Stalled() (requests, replies bool) { return l.stallRequests, l.stallReplies }

// IsModel reports whether the client's end of the link is a [ModelEnd].
func (l *Link) IsModel() bool { return l.model != nil }

// CanPause reports whether [Cluster.Pause] applies to the client.
func (l *Link) CanPause() bool {
	return (l.IsModel() || l.library() != nil) && !l.paused && !l.crashed.Load()
}

// library returns the client's end of the link if it is a [LibraryEnd], or nil.
func (l *Link) library() LibraryEnd {
	e, _ := l.end.(LibraryEnd)
	return e
}

// Pause stops the client's process, as a long garbage collection does, until [Cluster.Resume],
// which happens by itself once the limit has passed. A paused process receives and sends nothing,
// not even pings, and does not notice that its connection breaks. Actions of its goroutines on a
// timer take effect only when it resumes.
func (c *Cluster) Pause(l *Link, limit time.Duration) {
	l.each(func(l *Link) {
		if l.session != nil && l.session.link == l {
			c.markUnreachable(l.session)
		}
		l.paused, l.resumeAt = true, c.now+limit
		if e := l.library(); e != nil {
			e.Paused()
		}
	})
}

// Resume continues a paused process. A ping that was due meanwhile is sent at once.
func (c *Cluster) Resume(l *Link) {
	l.each(func(l *Link) { l.paused = false })
	c.record(history.Event{At: c.now, Kind: history.Resumed, Process: l.process})
	if l.crashed.Load() {
		return
	}
	l.each(c.resumeConnection)
}

// resumeConnection continues a connection of a process that has resumed.
func (c *Cluster) resumeConnection(l *Link) {
	c.resumeKeepalive(l)
	if e := l.library(); e != nil {
		e.Resumed()
	}
	if l.disconnected {
		l.disconnected = false
		if l.end.Connected() {
			l.end.Disconnected()
		}
	}
	l.end.Collect()
	l.advance()
}

// Paused reports whether the client's process is paused. It may be called only while the process is
// blocked.
func (l *Link) Paused() bool { return l.paused && !l.crashed.Load() }

// SetClientClock makes the client's clock run at a percentage of the leader's clock rate, as far as
// its sessions are concerned: all processes share virtual time, so the leader scales this client's
// timeouts instead.
func (c *Cluster) SetClientClock(l *Link, percent int) {
	l.each(func(l *Link) { l.percent = percent })
}

// clockRate returns the rate of the client's clock as a percentage of the leader's.
func (l *Link) clockRate() int {
	if l.percent == 0 {
		return 100
	}
	return l.percent
}

// ClientClock returns the rate of the client's clock as a percentage of the leader's.
func (l *Link) ClientClock() int { return l.clockRate() }

// deadline returns the time of the client's next timed action, and false if there is none.
func (l *Link) deadline() (time.Duration, bool) {
	switch {
	case l.crashed.Load():
		return 0, false
	case l.paused:
		return l.resumeAt, true
	}
	return l.end.Deadline()
}

// advance performs the client's timed actions that are due.
func (l *Link) advance() {
	switch {
	case l.crashed.Load():
	case !l.paused:
		l.end.Advance()
	case l.resumeAt <= l.cluster.now:
		l.cluster.Resume(l)
	}
}

func (h *stall) key(now time.Duration) uint64 {
	key := uint64(btoi(h.behindWrite)<<5 | btoi(h.held)<<4 | btoi(h.stallRequests)<<3 |
		btoi(h.stallReplies)<<2 | btoi(h.paused)<<1 | btoi(h.disconnected))
	if h.paused {
		key = mix(key, uint64(h.resumeAt-now))
	}
	return key
}
