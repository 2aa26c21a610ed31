package simsql

import (
	"database/sql"
	"database/sql/driver"
	"slices"
	"sync"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/sim/internal/service"
)

// A Client is the access of one process to the database. Lock code gets it as the handle of its
// process.
type Client struct {
	service.ProcessControl
	system *System

	// mu guards what the process's goroutines use beside the run's.
	mu          sync.Mutex
	conns       []*conn // open ones, and closed ones that the system has not noticed
	dialed      int     // number of connections so far
	unreachable bool    // the server refuses connections
	pools       []*sql.DB

	// Only the run uses the fields below.

	requests       []message
	replies        []message
	stallsRequests bool // by a fault, until it is healed
	stallsReplies  bool // by a fault, until it is healed
	down           bool // after a cut, until it is healed
	resumeAt       time.Duration
	received       uint64 // hash of all that was delivered, and when connections ended
}

// A message is a request, or the reply to it.
type message struct {
	conn    *conn
	age     uint64
	request *request
	op      string // the request's text
	key     uint64 // hash of that
	reply   *reply // nil of a request
	result  uint64 // hash of the reply
}

// DB returns a pool of connections to the database. The run closes it.
func (c *Client) DB() *sql.DB {
	pool := sql.OpenDB(c.Connector())
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pools = append(c.pools, pool)
	return pool
}

// Connector returns what opens connections to the database, for code that makes a pool of its own.
func (c *Client) Connector() driver.Connector { return connector{c} }

// Handle returns the client itself.
func (c *Client) Handle() any { return c }

// Connected reports whether the client has a connection.
func (c *Client) Connected() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.conns) > 0
}

// ServerIndex returns 0: there is one server.
func (c *Client) ServerIndex() int { return 0 }

// oldest returns the oldest message in flight on an open connection, or nil.
func (c *Client) oldest() (oldest *message) {
	for _, queue := range [][]message{c.requests, c.replies} {
		for i := range queue {
			if m := &queue[i]; !m.conn.closedByClient() && (oldest == nil || m.age < oldest.age) {
				oldest = m
			}
		}
	}
	return oldest
}

// Phase returns what the oldest request is for.
func (c *Client) Phase() faults.Phase {
	m := c.oldest()
	switch {
	case m == nil:
		return faults.Waiting
	case c.system.database.parse(m.request.query).word == "INSERT": // as locks do to acquire
		return faults.CreateInFlight
	}
	return faults.Asking
}

// Pending reports whether a request waits for its reply.
func (c *Client) Pending() bool { return c.oldest() != nil }

// Unserved returns the number of requests that the server has not handled.
func (c *Client) Unserved() int { return len(c.requests) }

// Undelivered returns the number of replies on their way to the client.
func (c *Client) Undelivered() int { return len(c.replies) }

// EventNext returns false: every message is a reply.
func (c *Client) EventNext() bool { return false }

// OwnsNodes returns false: no row ends with a connection.
func (c *Client) OwnsNodes() bool { return false }

// ShutDown closes the client after its process has finished.
func (c *Client) ShutDown() { c.TearDown() }

// TearDown ends all connections, and lets goroutines of a paused or crashed process go on.
func (c *Client) TearDown() {
	c.Release()
	c.mu.Lock()
	conns, pools := slices.Clone(c.conns), c.pools
	c.mu.Unlock()
	for _, conn := range conns {
		conn.end()
	}
	c.AtEnd(func() {
		for _, pool := range pools {
			pool.Close()
		}
	})
}

// collect receives what the process has sent, in the order of its connections, and notices which
// connections the process has closed.
func (c *Client) collect() {
	if c.Paused() {
		return
	}
	c.mu.Lock()
	conns := c.conns
	c.conns = nil
	c.mu.Unlock()
	var open []*conn
	for _, conn := range conns {
		sent, closed := conn.take()
		if sent != nil {
			c.send(conn, sent)
		}
		if !closed {
			open = append(open, conn)
			continue
		}
		c.replies = slices.DeleteFunc(c.replies, func(m message) bool { return m.conn == conn })
		c.system.endIdle(conn)
	}
	c.mu.Lock()
	c.conns = append(open, c.conns...)
	c.mu.Unlock()
}

// disconnect ends the client's connections and drops what is in flight on them.
func (c *Client) disconnect() {
	c.mu.Lock()
	conns := c.conns
	c.conns = nil
	c.mu.Unlock()
	for _, conn := range conns {
		conn.end()
		c.received = hash64.Fold(c.received, uint64(c.system.Now()))
	}
	c.requests, c.replies = nil, nil
	c.system.Wake()
}

// setDown updates whether the client can connect.
func (c *Client) setDown(down bool) {
	c.down = down
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unreachable = down
}

// servable returns the position of the client's next request that the server can handle, or -1. A
// request waits while another session has a transaction open.
func (c *Client) servable() int {
	d := &c.system.database
	if !d.answers() || c.stallsRequests {
		return -1
	}
	return slices.IndexFunc(c.requests, func(m message) bool {
		return d.owner == nil || d.owner == m.conn
	})
}

// deliverable reports whether the client can receive a reply.
func (c *Client) deliverable() bool {
	return len(c.replies) > 0 && !c.stallsReplies && !c.Paused() && !c.Crashed()
}

// key returns a hash of the client's state and of what is in flight.
func (c *Client) key() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := hash64.Fold(c.received, uint64(c.dialed)<<8|hash64.Bit(c.Paused())|
		hash64.Bit(c.Crashed())<<1|hash64.Bit(c.down)<<2|hash64.Bit(c.stallsRequests)<<3|
		hash64.Bit(c.stallsReplies)<<4)
	if c.Paused() {
		key = hash64.Fold(key, uint64(c.resumeAt-c.system.Now()))
	}
	for _, conn := range c.conns {
		key = hash64.Fold(key, uint64(conn.number))
	}
	key = hash64.Fold(key, uint64(len(c.requests))<<32|uint64(len(c.replies)))
	for _, queue := range [][]message{c.requests, c.replies} {
		for i := range queue {
			m := &queue[i]
			key = hash64.Fold(key, uint64(m.conn.number))
			key = hash64.Fold(key, m.key)
			if m.reply != nil {
				key = hash64.Fold(key, m.result)
			}
		}
	}
	return key
}
