package simredis

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/base/callsite"
	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/sim/internal/service"
)

// A Client is the access of one process to the servers. Lock code gets it as the handle of its
// process.
type Client struct {
	service.ProcessControl
	system *System

	// mu guards what the process's goroutines use beside the run's.
	mu     sync.Mutex
	conns  []*conn // open ones, and closed ones that the system has not noticed
	dialed []int   // number of connections so far, by server
	reach  uint    // bit n is set if server n can be reached
	slow   uint    // bit n is set if server n is stalled
	opened []io.Closer

	// Only the run uses the fields below.

	links    []link // by server
	down     bool   // after a cut, until it is healed
	resumeAt time.Duration
	received uint64 // hash of all that was delivered, and when connections ended or stalled
}

// A link is what is in flight between a client and a server.
type link struct {
	requests []message
	replies  []message
	blocked  bool // by a fault, until it is healed
}

// A message is a command, or the reply to it.
type message struct {
	conn    *conn
	age     uint64
	command []string
	op      string        // the command as reports show it
	site    callsite.Site // of the code that sent the command
	reply   []byte        // nil of a request
}

// Address returns the address of a server, as clients dial it. Servers count from 0. It is no name,
// which a client would resolve.
func Address(server int) string {
	return net.JoinHostPort("10.0.0."+strconv.Itoa(server+1), "6379")
}

// Servers returns the number of servers.
func (c *Client) Servers() int { return len(c.links) }

// Dial opens a connection to a server, by its address. It is a dialer for any Redis client. To
// connect takes no time, and fails at once if the server cannot be reached.
func (c *Client) Dial(_ context.Context, network, address string) (net.Conn, error) {
	c.AwaitResumed() // go-redis recovers a dialer's panic, so only the first command is refused.
	c.Notify()
	c.mu.Lock()
	defer c.mu.Unlock()
	server := 0
	for server < len(c.links) && Address(server) != address {
		server++
	}
	switch {
	case server == len(c.links):
		return nil, fmt.Errorf("simredis: there is no server %s", address)
	case c.TornDown() || c.reach>>server&1 == 0:
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	c.dialed[server]++
	conn := &conn{client: c, server: server, number: c.dialed[server]}
	c.conns = append(c.conns, conn)
	return conn, nil
}

// CloseAtEnd makes the run close what the process has opened over its connections, such as a Redis
// client.
func (c *Client) CloseAtEnd(opened io.Closer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened = append(c.opened, opened)
}

// Handle returns the client itself.
func (c *Client) Handle() any { return c }

// Connected reports whether the client has a connection.
func (c *Client) Connected() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.conns) > 0
}

// ServerIndex returns the server of the oldest request that waits for its reply, or else 0.
func (c *Client) ServerIndex() int {
	if m := c.oldest(); m != nil {
		return m.conn.server
	}
	return 0
}

// oldest returns the oldest message in flight on an open connection, or nil.
func (c *Client) oldest() (oldest *message) {
	for s := range c.links {
		for _, queue := range [][]message{c.links[s].requests, c.links[s].replies} {
			for i := range queue {
				if m := &queue[i]; !m.conn.closedByClient() &&
					(oldest == nil || m.age < oldest.age) {
					oldest = m
				}
			}
		}
	}
	return oldest
}

func (c *conn) closedByClient() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// Phase returns what the oldest request is for.
func (c *Client) Phase() faults.Phase {
	m := c.oldest()
	switch {
	case m == nil:
		return faults.Waiting
	case creates(m.command):
		return faults.CreateInFlight
	}
	return faults.Asking
}

// Pending reports whether a request waits for its reply.
func (c *Client) Pending() bool { return c.oldest() != nil }

// Unserved returns the number of requests that the servers have not handled.
func (c *Client) Unserved() (n int) {
	for s := range c.links {
		n += len(c.links[s].requests)
	}
	return n
}

// Undelivered returns the number of replies on their way to the client.
func (c *Client) Undelivered() (n int) {
	for s := range c.links {
		n += len(c.links[s].replies)
	}
	return n
}

// EventNext returns false: every message is a reply.
func (c *Client) EventNext() bool { return false }

// OwnsNodes returns false: no key ends with a connection.
func (c *Client) OwnsNodes() bool { return false }

// ShutDown closes the client after its process has finished.
func (c *Client) ShutDown() { c.TearDown() }

// TearDown ends all connections, and lets goroutines of a paused or crashed process go on.
func (c *Client) TearDown() {
	c.Release()
	c.mu.Lock()
	conns, opened := c.conns, c.opened
	c.mu.Unlock()
	for _, conn := range conns {
		conn.end()
	}
	c.AtEnd(func() {
		for _, o := range opened {
			o.Close()
		}
	})
}

// collect receives what the process has sent, connection by connection, and reports whether it
// answered the opening of a connection, so that the process may have sent more.
func (c *Client) collect() (answered bool) {
	if c.Paused() {
		return false
	}
	c.mu.Lock()
	conns := c.conns
	c.conns = nil
	c.mu.Unlock()
	// Goroutines that dial different servers race with each other.
	slices.SortFunc(conns, func(a, b *conn) int {
		return cmp.Or(cmp.Compare(a.server, b.server), cmp.Compare(a.number, b.number))
	})
	var open []*conn
	for _, conn := range conns {
		commands, site, closed := conn.take()
		for _, command := range commands {
			if !closed && opens(command) && c.links[conn.server].idle(conn) &&
				c.system.servers[conn.server].answers() {
				conn.push(c.system.servers[conn.server].do(c.system.Now(), conn, command))
				c.system.Wake()
				answered = true
				continue
			}
			c.send(conn, command, site)
		}
		if closed {
			c.forget(conn)
			continue
		}
		open = append(open, conn)
	}
	c.mu.Lock()
	c.conns = append(open, c.conns...)
	c.mu.Unlock()
	return answered
}

// idle reports whether nothing of the connection is in flight.
func (l *link) idle(on *conn) bool {
	of := func(m message) bool { return m.conn == on }
	return !slices.ContainsFunc(l.requests, of) && !slices.ContainsFunc(l.replies, of)
}

// forget drops the replies to a connection that the client has closed.
func (c *Client) forget(conn *conn) {
	l := &c.links[conn.server]
	kept := l.replies[:0]
	for _, m := range l.replies {
		if m.conn != conn {
			kept = append(kept, m)
		}
	}
	l.replies = kept
}

// disconnect ends the client's connections to the servers for which the function returns true, and
// drops what is in flight on them.
func (c *Client) disconnect(from func(server int) bool) {
	c.mu.Lock()
	var kept, ended []*conn
	for _, conn := range c.conns {
		if from(conn.server) {
			ended = append(ended, conn)
		} else {
			kept = append(kept, conn)
		}
	}
	c.conns = kept
	c.mu.Unlock()
	for _, conn := range ended {
		conn.end()
		c.received = hash64.Fold(c.received, uint64(c.system.Now())<<8|uint64(conn.server))
	}
	for s := range c.links {
		if from(s) {
			c.links[s].requests, c.links[s].replies = nil, nil
		}
	}
	c.system.Wake()
}

// refresh updates which servers the client can dial, and which of them are stalled.
func (c *Client) refresh() {
	reach, slow := uint(0), uint(0)
	for s := range c.links {
		node := &c.system.servers[s]
		if !c.down && !c.links[s].blocked && node.up() {
			reach |= 1 << s
		}
		if node.stalled {
			slow |= 1 << s
		}
	}
	c.mu.Lock()
	changed := c.slow != slow
	c.reach, c.slow = reach, slow
	c.mu.Unlock()
	if changed {
		// Reads can time out from now on.
		c.received = hash64.Fold(c.received, uint64(c.system.Now()))
		for _, conn := range c.conns {
			conn.wake()
		}
		c.system.Wake()
	}
}

// delayed reports whether a server is stalled.
func (c *Client) delayed(server int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slow>>server&1 != 0
}

// servable returns the client's next request to the server, or nil.
func (c *Client) servable(server int) *message {
	l := &c.links[server]
	if len(l.requests) == 0 || !c.system.servers[server].answers() {
		return nil
	}
	return &l.requests[0]
}

// deliverable returns the client's next reply from the server, or nil.
func (c *Client) deliverable(server int) *message {
	l := &c.links[server]
	if len(l.replies) == 0 || c.Paused() || c.Crashed() {
		return nil
	}
	return &l.replies[0]
}

// key returns a hash of the client's state and of what is in flight.
func (c *Client) key() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := hash64.Fold(c.received, uint64(c.reach)<<32|uint64(c.slow)<<16|
		hash64.Bit(c.Paused())|hash64.Bit(c.Crashed())<<1|hash64.Bit(c.down)<<2)
	for _, n := range c.dialed {
		key = hash64.Fold(key, uint64(n))
	}
	if c.Paused() {
		key = hash64.Fold(key, uint64(c.resumeAt-c.system.Now()))
	}
	for _, conn := range c.conns {
		key = hash64.Fold(key, uint64(conn.number)<<8|uint64(conn.server))
	}
	for s := range c.links {
		l := &c.links[s]
		key = hash64.Fold(key,
			uint64(len(l.requests))<<32|uint64(len(l.replies))<<1|hash64.Bit(l.blocked))
		for _, queue := range [][]message{l.requests, l.replies} {
			for i := range queue {
				key = hash64.Fold(key, uint64(queue[i].conn.number))
				for _, word := range queue[i].command {
					key = hash64.Fold(key, hashOf(word))
				}
				key = hash64.Fold(key, hashOf(string(queue[i].reply)))
			}
		}
	}
	return key
}
