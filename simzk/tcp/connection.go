package tcp

import (
	"bufio"
	"encoding/binary"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/wire"
)

const (
	// handshakeTimeout is the default of Config.Handshake (zookeeper.nio.sessionlessCnxnTimeout).
	handshakeTimeout = 10 * time.Second
	// drainTimeout is the time a client has to read the pending messages of a closed connection.
	drainTimeout = 5 * time.Second
)

// A connection is a client's connection to a member. Its run goroutine reads; its write goroutine
// writes.
type connection struct {
	member *member
	conn   net.Conn
	number uint64 // in order of acceptance
	opened time.Time
	outbox *outbox

	// The server's lock guards the fields below.
	link    *simzk.Link // nil until the client's first frame
	closed  bool        // by the server; no more frames are read
	aborted bool        // closed without the pending messages
	metrics metrics
}

func newConnection(m *member, conn net.Conn, number uint64) *connection {
	return &connection{
		member: m, conn: conn, number: number, opened: time.Now(), outbox: newOutbox(),
		metrics: newMetrics(),
	}
}

// run reads from the client until either side closes the connection.
func (c *connection) run() {
	defer c.cleanUp()
	c.conn.SetReadDeadline(c.expires())
	reader := bufio.NewReader(c.conn)
	head, err := reader.Peek(4)
	if err != nil {
		return
	}
	if c.answerFourLetterWord(string(head), reader) {
		return
	}
	if c.openLink() {
		c.readFrames(reader)
	}
}

// openLink connects the client to its member. It returns false if the member serves no clients.
func (c *connection) openLink() bool {
	s := c.member.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.awaitResume(); c.closed || !c.member.serving() {
		return false
	}
	c.link = s.cluster.Accept(c.member.index, c.host(), c)
	s.goroutines.Go(c.write)
	return true
}

// host returns the client's address as a Java server prints it: IPv6 unabbreviated
// (java.net.Inet6Address).
func (c *connection) host() string {
	address, err := netip.ParseAddr(host(c.conn.RemoteAddr()))
	if err != nil || address.Is4() {
		return host(c.conn.RemoteAddr())
	}
	var groups []string
	for pair := range slices.Chunk(address.AsSlice(), 2) {
		groups = append(groups, strconv.FormatUint(uint64(binary.BigEndian.Uint16(pair)), 16))
	}
	return strings.Join(groups, ":")
}

// endpoint returns the client's address and port as a Java server prints them.
func (c *connection) endpoint() string {
	_, port, err := net.SplitHostPort(c.conn.RemoteAddr().String())
	if err != nil {
		return c.host()
	}
	return net.JoinHostPort(c.host(), port)
}

// host returns an address without its port.
func host(address net.Addr) string {
	parsed, err := netip.ParseAddrPort(address.String())
	if err != nil {
		return address.String()
	}
	return parsed.Addr().Unmap().WithZone("").String()
}

// readFrames reads and processes the client's frames.
func (c *connection) readFrames(reader *bufio.Reader) {
	var frame []byte
	for {
		var err error
		if frame, err = wire.ReadFrame(reader, frame, wire.MaxFrame); err != nil {
			return
		}
		timeout, ok := c.receive(frame)
		if !ok {
			return
		}
		if cap(frame) > bufferKeptBytes {
			frame = nil
		}
		c.outbox.waitForRoom()
		c.conn.SetReadDeadline(time.Now().Add(timeout))
	}
}

// receive processes a frame. It returns the timeout for the next one, or false if the connection is
// closed.
func (c *connection) receive(frame []byte) (timeout time.Duration, ok bool) {
	arrived := time.Now()
	s := c.member.server
	s.mu.Lock()
	defer s.mu.Unlock()
	c.awaitResume()
	for c.member.network.requestsStalled && !c.closed {
		s.unblocked.Wait()
	}
	s.advance()
	s.flush()
	if c.closed {
		return 0, false
	}
	c.countRequest(frame, arrived)
	loseReply := c.member.losesReply(c.link, frame)
	if s.cluster.Receive(c.link, frame) != nil {
		return 0, false
	}
	s.serve(c.link)
	if loseReply {
		s.cluster.ResetConnection(c.link)
	}
	s.flush()
	for c.link.Unserved() > unservedMax && !c.closed {
		s.unblocked.Wait()
	}
	return c.readTimeout(), !c.closed
}

// unservedMax is the number of waiting requests of a client above which no more are read
// (globalOutstandingLimit).
const unservedMax = 1000

// serve serves the requests of a client as far as its member can. The caller holds the lock.
func (s *Server) serve(l *simzk.Link) {
	for {
		if _, waits := l.Servable(); !waits {
			return
		}
		s.cluster.Serve(l)
	}
}

// awaitResume waits while the member is paused. The caller holds the lock.
func (c *connection) awaitResume() {
	for c.member.network.paused && !c.aborted {
		c.member.server.unblocked.Wait()
	}
}

// readTimeout returns the time within which the client must send the next frame. A silent client's
// session expires earlier and closes its connection, so this timeout matters only for a connection
// that has lost its session to another one.
func (c *connection) readTimeout() time.Duration {
	if c.metrics.timeout == 0 {
		return c.member.server.config.Handshake
	}
	return c.metrics.timeout + 2*c.member.server.tick
}

// write writes the messages for the client and closes the connection at the end.
func (c *connection) write() {
	c.outbox.drain(c.conn)
	c.shutDown()
}

// shutDown closes the connection, and its writing side first: if the client has sent bytes that
// were not read, closing alone resets the connection, and the client loses messages.
func (c *connection) shutDown() {
	if half, ok := c.conn.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
	c.conn.Close()
}

// Send implements [simzk.Socket]. The caller holds the lock.
func (c *connection) Send(frame []byte) {
	c.countReply(frame)
	if !c.outbox.put(frame) {
		c.abort()
	}
}

// Close implements [simzk.Socket]. The caller holds the lock.
func (c *connection) Close() {
	c.closed = true
	c.reportUnanswered()
	c.member.server.unblocked.Broadcast()
	if !c.member.network.paused {
		c.conn.SetWriteDeadline(time.Now().Add(drainTimeout))
	}
	c.outbox.close()
}

// abort closes the connection without writing pending messages. The caller holds the lock.
func (c *connection) abort() {
	c.closed, c.aborted = true, true
	c.reportUnanswered()
	c.member.server.unblocked.Broadcast()
	c.outbox.abort()
	c.conn.Close()
}

// cleanUp removes a connection that has ended.
func (c *connection) cleanUp() {
	s := c.member.server
	s.mu.Lock()
	defer s.mu.Unlock()
	c.awaitResume()
	delete(c.member.connections, c)
	if c.link == nil {
		c.shutDown()
		return
	}
	s.advance()
	s.cluster.Leave(c.link) // calls Close
	s.flush()
}
