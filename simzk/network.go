package simzk

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// linkState says whether a client can reach the server.
type linkState uint8

const (
	up       linkState = iota
	down               // until Heal
	isolated           // until the client's session has expired
)

// Connected tells whether the client has a connection to the server, with a session or on the way to one.
func (c *Conn) Connected() bool {
	return (c.phase == connected || c.phase == connecting) && !c.crashed.Load()
}

// LinkDown tells whether the link between client and server is cut and waits for [Cluster.Heal].
func (c *Conn) LinkDown() bool { return c.link == down && !c.crashed.Load() }

// Isolated tells whether the client is cut off until its session has expired.
func (c *Conn) Isolated() bool { return c.link == isolated && !c.crashed.Load() }

// Crashed tells whether the client's process has crashed.
func (c *Conn) Crashed() bool { return c.crashed.Load() }

// HasSession tells whether the client has a session that it knows and that lives.
func (c *Conn) HasSession() bool {
	_, alive := c.cluster.findSession(c.SessionID())
	return alive && !c.crashed.Load()
}

// Unserved returns how many requests have been sent and not yet served.
func (c *Conn) Unserved() int { return len(c.toServer) }

// Undelivered returns how many messages from the server have not yet reached the client.
func (c *Conn) Undelivered() int { return len(c.toClient) }

// Servable returns the age of the oldest request that waits to be served, or false if there is none.
func (c *Conn) Servable() (age uint64, ok bool) {
	if len(c.toServer) == 0 {
		return 0, false
	}
	return c.toServer[0].age, true
}

// Deliverable returns the age of the oldest message that waits to be delivered, or false if there is none.
func (c *Conn) Deliverable() (age uint64, ok bool) {
	if len(c.toClient) == 0 {
		return 0, false
	}
	return c.toClient[0].age, true
}

// Cut breaks the connection and keeps the link down until [Cluster.Heal]. What was on its way in either direction is
// lost: a request that was not served never will be, and the client cannot tell that from a lost reply.
func (c *Cluster) Cut(conn *Conn) {
	conn.link = down
	c.breakConnection(conn)
}

// LoseReply lets the server handle every request that has reached it, then cuts the connection before a reply gets
// through.
func (c *Cluster) LoseReply(conn *Conn) {
	for len(conn.toServer) > 0 {
		c.Serve(conn)
	}
	c.Cut(conn)
}

// Isolate cuts the client off until its session has expired. The time for that has to pass: see [Cluster.Deadline].
func (c *Cluster) Isolate(conn *Conn) {
	conn.link = isolated
	if conn.Connected() {
		c.breakConnection(conn)
	}
}

// Heal mends a link that was cut. The client notices when it dials the next time.
func (c *Cluster) Heal(conn *Conn) {
	conn.link = up
	c.log.Append(history.Event{At: c.now, Kind: history.Healed, Process: conn.process})
}

// Crash ends the client's process. Its goroutines end at their next contact with the client library; until then they
// see nothing more of the ensemble. Requests that have already been sent may still be served.
func (c *Cluster) Crash(conn *Conn) {
	conn.crashed.Store(true)
	c.dropWatches(conn)
	conn.toClient = nil
	if conn.session != nil {
		conn.session.detach(c.now, c.config)
	}
	c.log.Append(history.Event{At: c.now, Kind: history.Crashed, Process: conn.process})
}

// breakConnection ends the connection on both sides.
func (c *Cluster) breakConnection(conn *Conn) {
	c.dropWatches(conn)
	if conn.session != nil {
		conn.session.detach(c.now, c.config)
		conn.session = nil
	}
	conn.toServer = slices.Delete(conn.toServer, 0, len(conn.toServer))
	conn.toClient = slices.Delete(conn.toClient, 0, len(conn.toClient))
	conn.disconnected()
}
