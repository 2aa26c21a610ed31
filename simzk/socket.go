package simzk

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A Socket is the connection to a client that speaks ZooKeeper's protocol.
type Socket interface {
	// Send sends a frame, including its length prefix. It must not block or retain the slice.
	Send(frame []byte)
	// Close closes the connection once everything sent before has left. It may be called more than
	// once.
	Close()
}

// Accept adds a client that has connected to a server over a socket. The address is the client's,
// without the port.
func (c *Cluster) Accept(server int, address string, socket Socket) *Link {
	l := new(Link)
	c.addLink(l, 0, server, address)
	l.end = &socketEnd{link: l, socket: socket, open: true}
	return l
}

// Receive queues a frame from the client of an accepted link, without its length prefix, for
// [Cluster.Serve]. It returns an error if no server could decode the frame; the caller must then
// call [Cluster.Leave].
func (c *Cluster) Receive(l *Link, frame []byte) error {
	w := l.end.(*socketEnd)
	r, err := ParseFrame(frame, w.handshake != nil)
	if err != nil {
		return err
	}
	if r.connect != nil {
		w.handshake = r.connect
	}
	if r.reopens {
		r.connect = w.handshake
	}
	l.transmit(r)
	return nil
}

// Leave removes the client of an accepted link whose connection is closed. Its session continues
// until it expires.
func (c *Cluster) Leave(l *Link) {
	c.closeConnection(l)
	at, found := slices.BinarySearchFunc(c.links, l.number,
		func(other *Link, number int64) int { return cmp.Compare(other.number, number) })
	if found {
		c.links = slices.Delete(c.links, at, at+1)
	}
}

// ParseFrame decodes a client's frame: the handshake first, then requests.
func ParseFrame(frame []byte, greeted bool) (*Exchange, error) {
	if !greeted {
		handshake := new(wire.ConnectRequest)
		if err := wire.DecodeConnectRequest(frame, handshake); err != nil {
			return nil, fmt.Errorf("simzk: handshake: %w", err)
		}
		return &Exchange{
			Request: wire.Request{Op: wire.OpCreateSession}, connect: handshake,
			Session: handshake.SessionID,
		}, nil
	}
	r := new(Exchange)
	err := operation.DecodeRequest(frame, &r.Request)
	if errors.Is(err, wire.ErrHeader) {
		return nil, fmt.Errorf("simzk: request: %w", err)
	}
	r.malformed = err != nil
	if r.Op == wire.OpCreateSession {
		r.reopens, r.malformed = true, len(frame) < requestHeader+4
	}
	return r, nil
}

// serveReopen answers a createSession request on a connection that already has a session. A server
// treats it as a transaction, unless it has local sessions, and sends the client its session again.
func (c *Cluster) serveReopen(l *Link, r *Exchange) {
	if !c.HasLocalSessions() {
		c.zxid++
		c.propose(proposal{process: l.process})
	}
	r.Session, r.Timeout = l.session.id, l.session.timeout
	if r.malformed {
		r.Result.Code = wire.MarshallingError
	}
	c.respond(l, r)
}

// A socketEnd is the end of a link whose client is beyond a [Socket].
type socketEnd struct {
	link      *Link
	socket    Socket
	open      bool
	handshake *wire.ConnectRequest // nil until it has arrived
	buffer    []byte
}

// requestHeader is the length of a request's header.
const requestHeader = 8

func (w *socketEnd) Deliver(m Message) {
	w.buffer = w.link.cluster.AppendFrame(w.buffer[:0], m)
	w.socket.Send(w.buffer)
	if m.Reply != nil && closesConnection(m.Reply) {
		w.link.cluster.closeConnection(w.link)
	}
}

// closesConnection reports whether the server closes the connection after a reply.
func closesConnection(r *Exchange) bool {
	return r.Op == wire.OpCloseSession || r.Op == wire.OpCreateSession && r.Session == 0 &&
		!r.reopens
}

func (w *socketEnd) Disconnected() {
	w.open = false
	w.socket.Close()
}

func (w *socketEnd) Collect()                        {}
func (w *socketEnd) Connected() bool                 { return w.open }
func (w *socketEnd) KnownSession() int64             { return 0 }
func (w *socketEnd) Pending() *wire.Request          { return nil }
func (w *socketEnd) Deadline() (time.Duration, bool) { return 0, false }
func (w *socketEnd) Advance()                        {}
func (w *socketEnd) PingsStalled()                   {}
func (w *socketEnd) PingsResumed()                   {}
func (w *socketEnd) LatencyChanges()                 {}
func (w *socketEnd) Key() uint64                     { return 0 }
func (w *socketEnd) TearDown()                       { w.Disconnected() }
func (w *socketEnd) ShutDown()                       { w.Disconnected() }

// AppendFrame appends the frame of a message.
func (c *Cluster) AppendFrame(dst []byte, m Message) []byte {
	dst, at := wire.BeginFrame(dst)
	switch r := m.Reply; {
	case r == nil:
		e := wire.Event{Type: m.Event, State: wire.StateSyncConnected, Path: m.Path, Zxid: -1}
		if c.config.Version >= V39 {
			e.Zxid = m.Zxid // ZOOKEEPER-4655
		}
		dst = wire.AppendEvent(dst, &e)
	case r.Op == wire.OpCreateSession && !r.malformed:
		dst = wire.AppendConnectResponse(dst, connectResponse(r))
	default:
		dst = operation.AppendReply(dst, r.Op, replyTo(r))
	}
	return wire.EndFrame(dst, at)
}

func connectResponse(r *Exchange) *wire.ConnectResponse {
	response := &wire.ConnectResponse{SessionID: r.Session, Password: make([]byte, 16)}
	if r.Session != 0 {
		response.TimeoutMillis = int32(r.Timeout.Milliseconds())
		response.Password = password(r.Session)
	}
	response.HasReadOnly = r.connect != nil && r.connect.HasReadOnly
	return response
}

func replyTo(r *Exchange) *wire.Reply {
	reply := &wire.Reply{
		Xid: r.Xid, Zxid: r.zxid, Code: r.Result.Code, Path: r.Result.Path, Stat: r.Result.Stat,
		Data: r.Result.Data, ACL: r.Result.ACL, Children: r.Result.Children, Number: r.count,
		Identities: r.identities,
		Results:    r.Result.Results,
	}
	switch o := operation.Of(r.Op); {
	case o.NoZxid:
		reply.Zxid = 0
	case r.Op == wire.OpPing:
		reply.Xid = wire.XidPing
	case o.Execute == nil && r.Result.Code == wire.Unimplemented:
		reply.Zxid = -1
	}
	return reply
}
