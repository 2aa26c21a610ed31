package simredis

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/interlock-sim/interlock/internal/base/callsite"
)

// A conn is the client's end of an in-memory connection to a server. It is a net.Conn whose Read
// blocks until there is data, until its deadline or until the end, and whose Write never waits for
// the server, like TCP with free buffer space. While the process is paused or has crashed, both
// block.
//
// A deadline passes only while the server is stalled by a fault: no message is so slow by itself
// that its receiver gives up. Otherwise nearly every run would have such a message.
type conn struct {
	client *Client
	server int
	number int // of the process's connections to the server, from 1

	mu       sync.Mutex
	toClient []byte
	toServer []byte
	site     callsite.Site // that has written last
	ended    bool          // closed by either side
	closed   bool          // closed by the client
	deadline time.Time
	changed  chan struct{} // closed at the next change of the above; nil until a Read waits
}

// broadcast wakes every waiting Read. The caller holds the lock.
func (c *conn) broadcast() {
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// push sends bytes to the client.
func (c *conn) push(bytes []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.toClient = append(c.toClient, bytes...)
	c.broadcast()
}

// end closes the connection from the server's side. Bytes pushed before can still be read.
func (c *conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.ended = true
		c.broadcast()
	}
}

// take returns the commands that the client has sent since the last call, the line that sent them,
// and whether the client has closed the connection.
func (c *conn) take() (commands [][]string, site callsite.Site, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.toServer) > 0 {
		command, rest, err := parseCommand(c.toServer)
		if err != nil {
			panic(err)
		}
		if command == nil {
			break
		}
		commands = append(commands, command)
		c.toServer = rest
	}
	return commands, c.site, c.closed
}

// wake makes every waiting Read look again.
func (c *conn) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broadcast()
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	for {
		c.client.AwaitRunning()
		c.mu.Lock()
		n := copy(b, c.toClient)
		c.toClient = c.toClient[n:]
		if n == 0 && !c.ended && c.changed == nil {
			c.changed = make(chan struct{})
		}
		ended, deadline, changed := c.ended, c.deadline, c.changed
		c.mu.Unlock()
		wait := time.Until(deadline)
		switch {
		case n > 0 || len(b) == 0:
			return n, nil
		case ended:
			return 0, io.EOF
		case wait <= 0 && !deadline.IsZero() && c.client.delayed(c.server):
			return 0, os.ErrDeadlineExceeded
		case wait <= 0: // without a deadline, or no fault is to blame for the delay
			<-changed
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	c.client.AwaitRunning()
	site := c.client.system.Site(Service{}.OwnsCall)
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return 0, io.ErrClosedPipe
	}
	c.site = site
	c.toServer = append(c.toServer, b...)
	c.mu.Unlock()
	c.client.Notify()
	return len(b), nil
}

// Close implements net.Conn. Commands that are already sent may still be served.
func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.ended, c.closed = true, true
		c.broadcast()
	}
	return nil
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	c.broadcast()
	return nil
}

// SetWriteDeadline implements net.Conn. It has no effect, as Write does not wait for the server.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SyscallConn implements syscall.Conn. go-redis calls it when it takes an idle connection from its
// pool, and dials anew if the connection has ended.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return nil, io.EOF
	}
	return rawConn{}, nil
}

// A rawConn is a connection without a file descriptor, and without data to read while it is idle.
type rawConn struct{}

func (rawConn) Control(func(uintptr)) error    { return nil }
func (rawConn) Read(func(uintptr) bool) error  { return nil }
func (rawConn) Write(func(uintptr) bool) error { return nil }

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr { return address("client") }

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return address(Address(c.server)) }

// An address is the name of one end of a connection.
type address string

func (address) Network() string  { return "memory" }
func (a address) String() string { return string(a) }
