package simzk

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// linkStatus says whether a client can linkStatus the server.
type linkStatus uint8

const (
	up       linkStatus = iota
	down                // until Heal
	isolated            // until the client's session has expired
)

// Cut breaks the connection and keeps the link down until [Cluster.Heal]. What was on its way in
// either direction is lost: a request that was not served never will be, and the client cannot tell
// that from a lost reply.
func (c *Cluster) Cut(l *Link) {
	l.state = down
	c.closeConnection(l)
}

// Reset breaks the connection, and leaves the link as it is: the client goes on to the next server
// on its list. What was on its way in either direction is lost.
func (c *Cluster) ResetConnection(l *Link) { c.closeConnection(l) }

// Several tells whether the client's ensemble has more than one server.
func (l *Link) Several() bool { return l.cluster.Servers() > 1 }

// LoseReply lets the server handle every request that has reached it and that it can handle now,
// then cuts the connection before a reply gets through. In an ensemble with lag, a write goes on to
// be committed, or not, without its client.
func (c *Cluster) LoseReply(l *Link) {
	for connection := l.server; l.server == connection; {
		if _, ok := l.Servable(); !ok {
			break
		}
		c.Serve(l)
	}
	c.Cut(l)
}

// Isolate cuts the client off until its session has expired. The time for that has to pass: see
// [Cluster.Deadline].
func (c *Cluster) Isolate(l *Link) {
	l.state = isolated
	if l.Connected() {
		c.closeConnection(l)
	}
}

// Heal mends a link that was cut, and lets pass what was held. The client notices the former when
// it dials the next time.
func (c *Cluster) Heal(l *Link) {
	if l.state == down {
		l.state = up
	}
	c.releaseStalled(l)
	c.record(history.Event{At: c.now, Kind: history.Healed, Process: l.process})
}

// Crash ends the client's process. Its goroutines end at their next contact with the client
// library; until then they see nothing more of the ensemble. Requests that have already been sent
// may still be served.
func (c *Cluster) Crash(l *Link) {
	l.crashed.Store(true)
	c.dropWatches(l)
	l.toClient = nil
	if l.session != nil && l.session.link == l {
		c.detach(l.session)
	}
	c.record(history.Event{At: c.now, Kind: history.Crashed, Process: l.process})
}

// CanFailWrite tells whether [Cluster.FailWrite] can be done to the client: the real client while
// it has a connection.
func (l *Link) CanFailWrite() bool {
	conn, ok := l.end.(*RealConn)
	return ok && conn.pipe != nil && !conn.pipe.failing() && !l.crashed.Load()
}

// FailWrite makes the client's next write to its connection fail, be it a ping, as that of a host
// does that has lost its route. The client then closes the connection.
func (c *Cluster) FailWrite(l *Link) { l.end.(*RealConn).pipe.failWrites() }

// CanDelayWatches tells whether [Cluster.DelayWatches] can be done to the client and would make a
// difference: it is a modelled one that has a session but no connection to use it on, watches, and
// calls that wait.
func (l *Link) CanDelayWatches() bool {
	conn, ok := l.end.(*Conn)
	return ok && !l.crashed.Load() && conn.canDelayWatches()
}

// DelayWatches lets the client set its watches again too late the next time it comes back to the
// ensemble. go-zookeeper/zk does so on a goroutine that nothing keeps from reading the last
// transaction that the client has seen only after the answer to a call that waited for the
// connection has raised it (https://github.com/go-zookeeper/zk/pull/35). The server then takes what
// has changed before that answer for known, and tells nobody.
func (c *Cluster) DelayWatches(l *Link) { l.end.(*Conn).rearmTiming = rearmNextLate }

// closeConnection ends the connection on both sides, if there is one. A process that has crashed does not
// notice.
func (c *Cluster) closeConnection(l *Link) {
	c.drop(l)
	switch {
	case l.crashed.Load() || !l.end.connected():
	case l.paused:
		l.disconnected = true
	default:
		l.end.disconnected()
	}
}

// drop ends the connection at the server's side.
func (c *Cluster) drop(l *Link) {
	c.dropWatches(l)
	if l.session != nil {
		if l.session.link == l {
			c.detach(l.session)
		}
		l.session = nil
	}
	l.identities = l.identities[:1]
	c.dropDelayedReply(l)
	l.toServer = slices.Delete(l.toServer, 0, len(l.toServer))
	l.toClient = slices.Delete(l.toClient, 0, len(l.toClient))
}

// dropWatches forgets what the server would have told a connection that is no more.
func (c *Cluster) dropWatches(l *Link) {
	gone := c.watches.drop(l)
	for _, m := range l.toClient {
		gone = append(gone, m.watches...)
	}
	c.recordWatchesGone(l, gone)
}

func (c *Cluster) recordWatchesGone(l *Link, watches []*watch) {
	for _, w := range watches {
		if w.mode == oneShot {
			c.record(history.Event{
				At: c.now, Kind: history.WatchGone, Process: l.process, Watch: w.number,
				Path: w.path,
			})
		}
	}
}
