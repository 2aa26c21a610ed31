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
	// handshakeTime is how long a client may take until it has asked for a session, unless the
	// configuration says otherwise (zookeeper.nio.sessionlessCnxnTimeout).
	handshakeTime = 10 * time.Second
	// drainTime is how long a client may take to read what was sent before its connection was
	// closed.
	drainTime = 5 * time.Second
)

// A connection is a client's connection to a member. Its run goroutine reads, another writes.
type connection struct {
	member *member
	conn   net.Conn
	number uint64 // in the order in which connections were accepted
	made   time.Time
	outbox *outbox

	// The server's lock guards these.
	link    *simzk.Link // nil until the client's first frame
	ended   bool        // by the server; nothing more is read
	metrics metrics
}

func newConnection(m *member, conn net.Conn, number uint64) *connection {
	return &connection{
		member: m, conn: conn, number: number, made: time.Now(), outbox: newOutbox(),
		metrics: newMetrics(),
	}
}

// run reads what the client sends until one of both ends the connection.
func (c *connection) run() {
	defer c.leave()
	c.conn.SetReadDeadline(c.made.Add(c.member.server.config.Handshake))
	reader := bufio.NewReader(c.conn)
	head, err := reader.Peek(4)
	if err != nil {
		return
	}
	if c.answerWord(string(head), reader) {
		return
	}
	if c.begin() {
		c.converse(reader)
	}
}

// begin makes the connection a client's, unless the member serves none.
func (c *connection) begin() bool {
	s := c.member.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.ended || !c.member.serving() {
		return false
	}
	c.link = s.cluster.Accept(c.member.index, c.host(), c)
	s.running.Go(c.write)
	return true
}

// host returns the client's address as a server writes it, which is in full for IPv6
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

// endpoint returns the client's address and port as a server writes them.
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

// converse takes one frame after the other from the client.
func (c *connection) converse(reader *bufio.Reader) {
	var frame []byte
	for {
		var err error
		if frame, err = wire.ReadFrame(reader, frame, wire.MaxFrame); err != nil {
			return
		}
		patience, ok := c.receive(frame)
		if !ok {
			return
		}
		if cap(frame) > bufferKept {
			frame = nil
		}
		c.outbox.pause()
		c.conn.SetReadDeadline(time.Now().Add(patience))
	}
}

// receive puts a frame before the server and lets it answer. It returns how long the client may be
// silent now, and false if nothing more is to be read.
func (c *connection) receive(frame []byte) (patience time.Duration, ok bool) {
	arrived := time.Now()
	s := c.member.server
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	s.flush()
	if c.ended {
		return 0, false
	}
	c.asked(frame, arrived)
	if s.cluster.Receive(c.link, frame) != nil {
		return 0, false
	}
	for {
		if _, waits := c.link.Servable(); !waits {
			break
		}
		s.cluster.Serve(c.link)
	}
	s.flush()
	return c.patience(), !c.ended
}

// patience returns how long the client may be silent. A session that nobody hears of ends earlier,
// and its connection with it; what is left for this is a connection that has lost its session to
// another one.
func (c *connection) patience() time.Duration {
	if c.metrics.timeout == 0 {
		return c.member.server.config.Handshake
	}
	return c.metrics.timeout + 2*c.member.server.tick
}

// write writes what is sent to the client, and closes the connection at the end.
func (c *connection) write() {
	c.outbox.drain(c.conn)
	c.conn.Close()
}

// Send implements [simzk.Socket]. The caller holds the lock.
func (c *connection) Send(frame []byte) {
	c.answered(frame)
	if !c.outbox.put(frame) {
		c.abort()
	}
}

// Close implements [simzk.Socket]. The caller holds the lock.
func (c *connection) Close() {
	c.ended = true
	c.conn.SetWriteDeadline(time.Now().Add(drainTime))
	c.outbox.end()
}

// abort breaks the connection without waiting for anything. The caller holds the lock.
func (c *connection) abort() {
	c.ended = true
	c.outbox.end()
	c.conn.Close()
}

// leave forgets the connection.
func (c *connection) leave() {
	s := c.member.server
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(c.member.connections, c)
	if c.link == nil {
		c.conn.Close()
		return
	}
	s.advance()
	s.cluster.Leave(c.link) // calls Close
	s.flush()
}
