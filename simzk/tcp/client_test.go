package tcp_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/tcp"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// testTimeout limits the time that a test waits for an event. Only failing tests wait that long.
const testTimeout = 30 * time.Second

// start starts an ensemble on free loopback ports.
func start(t testing.TB, servers int, config tcp.Config) *tcp.Server {
	t.Helper()
	addresses := make([]string, servers)
	for i := range addresses {
		addresses[i] = "127.0.0.1:0"
	}
	s, err := tcp.Start(config, addresses...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// single starts a standalone server and returns its address.
func single(t testing.TB, config simzk.Config) (*tcp.Server, string) {
	t.Helper()
	s := start(t, 1, tcp.Config{Cluster: config})
	return s, s.Addresses()[0]
}

// A rawClient speaks the protocol frame by frame.
type rawClient struct {
	t    testing.TB
	conn net.Conn
	xid  int32
}

// dial opens a connection without a handshake.
func dial(t testing.TB, address string) *rawClient {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(testTimeout))
	return &rawClient{t: t, conn: conn}
}

// handshake returns the frame of a handshake for a new session.
func handshake(timeout time.Duration) []byte {
	frame, at := wire.BeginFrame(nil)
	return wire.EndFrame(wire.AppendConnectRequest(frame, &wire.ConnectRequest{
		TimeoutMillis: int32(timeout.Milliseconds()), Password: make([]byte, 16),
	}), at)
}

// framed returns the frame of a request.
func framed(r *wire.Request) []byte {
	frame, at := wire.BeginFrame(nil)
	return wire.EndFrame(operation.AppendRequest(frame, r), at)
}

// open opens a connection with a new session.
func open(t testing.TB, address string, timeout time.Duration) (*rawClient, *wire.ConnectResponse) {
	t.Helper()
	c := dial(t, address)
	c.write(handshake(timeout))
	response := new(wire.ConnectResponse)
	if err := wire.DecodeConnectResponse(c.read(), response); err != nil {
		t.Fatal(err)
	}
	if response.SessionID == 0 {
		t.Fatal("no session")
	}
	return c, response
}

func (c *rawClient) write(bytes []byte) {
	c.t.Helper()
	if _, err := c.conn.Write(bytes); err != nil {
		c.t.Fatal(err)
	}
}

// read returns the content of the next frame.
func (c *rawClient) read() []byte {
	c.t.Helper()
	frame, err := wire.ReadFrame(c.conn, nil, 1<<30)
	if err != nil {
		c.t.Fatal(err)
	}
	return frame
}

// send sends a request and returns its xid.
func (c *rawClient) send(r wire.Request) int32 {
	c.t.Helper()
	c.xid++
	r.Xid = c.xid
	c.write(framed(&r))
	return r.Xid
}

// call sends a request and returns the reply, which must be the next frame.
func (c *rawClient) call(r wire.Request) *wire.Reply {
	c.t.Helper()
	xid := c.send(r)
	reply := c.reply(r.Op)
	if reply.Xid != xid {
		c.t.Fatalf("reply to request %d, want %d", reply.Xid, xid)
	}
	return reply
}

func (c *rawClient) reply(op wire.Op) *wire.Reply {
	c.t.Helper()
	reply := new(wire.Reply)
	if err := operation.DecodeReply(c.read(), op, reply); err != nil {
		c.t.Fatal(err)
	}
	return reply
}

// awaitEnd returns the bytes that the server sends before it closes the connection. The close may
// be a reset if the server has left bytes unread.
func (c *rawClient) awaitEnd() []byte {
	c.t.Helper()
	rest, err := io.ReadAll(c.conn)
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		c.t.Fatal("the connection is not closed")
	}
	return rest
}

// create returns a request that creates a node with an open ACL.
func create(path string, data []byte, flags int32) wire.Request {
	return wire.Request{
		Op: wire.OpCreate, Path: path, Data: data, Flags: flags,
		ACL: []wire.ACL{{Perms: wire.PermAll, Scheme: "world", ID: "anyone"}},
	}
}

// fourLetterWord returns the response to a four-letter word.
func fourLetterWord(t testing.TB, address, name string) string {
	t.Helper()
	c := dial(t, address)
	c.write([]byte(name))
	return string(c.awaitEnd())
}

// connect connects a go-zookeeper/zk client and waits until it has a session.
func connect(t testing.TB, timeout time.Duration, addresses ...string) (*zk.Conn, <-chan zk.Event) {
	t.Helper()
	// The client's own channel holds six events and drops the rest, which a slow test would miss.
	events := make(chan zk.Event, 1024)
	conn, _, err := zk.Connect(addresses, timeout, zk.WithLogger(discard{}),
		zk.WithEventCallback(func(e zk.Event) { events <- e }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	await(t, events, zk.StateHasSession)
	return conn, events
}

type discard struct{}

func (discard) Printf(string, ...any) {}

// await waits until the client is in the state.
func await(t testing.TB, events <-chan zk.Event, state zk.State) {
	t.Helper()
	deadline := time.After(testTimeout)
	for {
		select {
		case e := <-events:
			if e.Type == zk.EventSession && e.State == state {
				return
			}
		case <-deadline:
			t.Fatalf("the client does not reach state %v", state)
		}
	}
}

// awaitEvent waits for the event of a watch.
func awaitEvent(t testing.TB, watch <-chan zk.Event) zk.Event {
	t.Helper()
	select {
	case e := <-watch:
		return e
	case <-time.After(testTimeout):
		t.Fatal("the watch does not fire")
	}
	panic("unreachable")
}
