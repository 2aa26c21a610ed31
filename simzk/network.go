package simzk

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// linkStatus says whether a client can reach the servers.
type linkStatus uint8

const (
	up       linkStatus = iota
	down                // until [Cluster.Heal]
	isolated            // until the client's session has expired
)

// Cut closes the connection and keeps the link down until [Cluster.Heal]. All messages in transit
// are lost: a request that was not served never will be, and the client cannot distinguish that
// from a lost reply.
func (c *Cluster) Cut(l *Link) {
	l.each(func(l *Link) { l.state = down })
	l.each(c.closeConnection)
}

// ResetConnection closes the connection and leaves the link up, so that the client connects to the
// next server on its list. All messages in transit are lost.
func (c *Cluster) ResetConnection(l *Link) { c.closeConnection(l) }

// HasOtherServers reports whether the client's ensemble has more than one server.
func (l *Link) HasOtherServers() bool { return l.cluster.Servers() > 1 }

// LoseReply lets the server handle every request from the client that it can handle now, then cuts
// the connection before any reply is delivered. In an ensemble with lag, the fate of a write is
// then independent of its client.
func (c *Cluster) LoseReply(l *Link) {
	l.each(c.serveAll)
	c.Cut(l)
}

// serveAll lets the server handle every request that it can handle now.
func (c *Cluster) serveAll(l *Link) {
	for connection := l.server; l.server == connection; {
		if _, ok := l.Servable(); !ok {
			break
		}
		c.Serve(l)
	}
}

// Isolate cuts the client off until its session has expired, which takes time: see
// [Cluster.Deadline]. A process with several connections is cut off until all of its sessions have
// expired.
func (c *Cluster) Isolate(l *Link) {
	l.each(func(l *Link) { l.state = isolated })
	l.each(func(l *Link) {
		if l.Connected() {
			c.closeConnection(l)
		}
	})
}

// Heal restores a link that was cut, which the client notices at its next dial, and releases
// stalled messages.
func (c *Cluster) Heal(l *Link) {
	l.each(func(l *Link) {
		if l.state == down {
			l.state = up
		}
		l.opening = l.opening && !l.Opening()
	})
	l.each(c.releaseStalled)
	c.record(history.Event{At: c.now, Kind: history.Healed, Process: l.process})
}

// Crash kills the client's process. Its goroutines observe nothing more of the ensemble: calls of
// the client, those under way included, do not return before [Link.TearDown]. Requests that are
// already sent may still be served.
func (c *Cluster) Crash(l *Link) {
	l.each(func(l *Link) {
		l.crashed.Store(true)
		if e := l.library(); e != nil {
			e.Crashed()
		}
		c.dropWatches(l)
		l.toClient = nil
		if l.stallRequests { // Nothing ends the stall any more.
			l.toServer = slices.Delete(l.toServer, 0, len(l.toServer))
		}
		if l.session != nil && l.session.link == l {
			c.detach(l.session)
		}
	})
	c.record(history.Event{At: c.now, Kind: history.Crashed, Process: l.process})
}

// closeConnection closes the connection on both sides, if there is one. A crashed process does not
// notice.
func (c *Cluster) closeConnection(l *Link) {
	c.drop(l)
	switch {
	case l.crashed.Load() || !l.end.Connected():
	case l.paused:
		l.disconnected = true
	default:
		l.end.Disconnected()
	}
}

// drop closes the connection on the server's side.
func (c *Cluster) drop(l *Link) {
	c.dropWatches(l)
	l.opening = false
	if l.session != nil {
		if l.session.link == l {
			c.detach(l.session)
		}
		l.session = nil
	}
	l.held = false
	l.identities = l.identities[:1]
	c.dropDelayedReply(l)
	l.toServer = slices.Delete(l.toServer, 0, len(l.toServer))
	l.toClient = slices.Delete(l.toClient, 0, len(l.toClient))
}

// dropWatches removes the watches and undelivered events of a closed connection.
func (c *Cluster) dropWatches(l *Link) {
	dropped := c.watches.drop(l)
	for _, m := range l.toClient {
		dropped = append(dropped, m.watches...)
	}
	c.recordWatchesGone(l, dropped)
}

func (c *Cluster) recordWatchesGone(l *Link, watches []*watch) {
	for _, w := range watches {
		if w.mode == oneShot {
			c.record(history.Event{
				At: c.now, Kind: history.WatchGone, Process: w.owner(),
				Connection: w.link.connection, Watch: w.number,
				Path: w.path,
			})
		}
	}
}
