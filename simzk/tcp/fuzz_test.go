package tcp_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/tcp"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A pipeListener accepts in-memory connections.
type pipeListener struct {
	connections chan net.Conn
	closed      chan struct{}
}

func newPipeListener() *pipeListener {
	return &pipeListener{connections: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.connections:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	close(l.closed)
	return nil
}

func (l *pipeListener) Addr() net.Addr {
	return &net.TCPAddr{
		IP:   net.IPv4(127, 0, 0, 1),
		Port: 2181,
	}
}

// dial connects to the listener.
func (l *pipeListener) dial() net.Conn {
	client, server := net.Pipe()
	l.connections <- pipeEnd{server}
	return pipeEnd{client}
}

// A pipeEnd is an end of a pipe that stops its timers when closed. Thousands of tests per second
// would otherwise leave enough pending timers to starve everything else when they fire.
type pipeEnd struct{ net.Conn }

// Close implements net.Conn.
func (e pipeEnd) Close() error {
	e.SetDeadline(time.Time{})
	return e.Conn.Close()
}

// fuzzTimeout limits the time that a test waits for an event. It is shorter than the fuzzer's own
// limit of ten seconds, which does not report the cause.
const fuzzTimeout = 8 * time.Second

// FuzzConnection sends arbitrary bytes over a connection in two pieces while the client reads all
// responses. The server must not fail, must close the connection when the client does, and must
// still serve other clients.
func FuzzConnection(f *testing.F) {
	for _, fourLetterWord := range []string{
		"", "ruok", "srvr", "mntr", "stmk12345678", "stmk", "dump", "zzzz",
		"\x80\x00\x00\x00", "\x00\x00\x00\x00",
	} {
		f.Add([]byte(fourLetterWord), uint(2))
	}
	session := handshake(4 * time.Second)
	xid := int32(0)
	for _, r := range seeds() {
		xid++
		r.Xid = xid
		f.Add(append(handshake(4*time.Second), framed(&r)...), uint(60))
		session = append(session, framed(&r)...)
	}
	f.Add(session, uint(100))
	f.Fuzz(func(t *testing.T, stream []byte, split uint) {
		listener := newPipeListener()
		server := tcp.Serve(tcp.Config{Cluster: simzk.Config{
			ExtendedTypes: true, Reconfig: true,
			SuperDigest: "super:D/InIHSb7yEEbrWz8b9l71RjZJU=",
		}}, listener)
		exchange(t, listener.dial(), true, stream, int(split%(uint(len(stream))+1)))
		if answer := string(exchange(t, listener.dial(), false, []byte("ruok"),
			0)); answer != "imok" {
			t.Errorf("the server responds %q", answer)
		}
		finished := make(chan error)
		go func() { finished <- server.Close() }()
		select {
		case err := <-finished:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(fuzzTimeout):
			t.Fatal("the server does not close")
		}
	})
}

// exchange writes the bytes in two pieces and returns the server's response. With hangUp the client
// closes the connection after the server has read them; otherwise the server must.
func exchange(t *testing.T, conn net.Conn, hangUp bool, stream []byte, split int) []byte {
	conn.SetDeadline(time.Now().Add(fuzzTimeout))
	received := make(chan []byte)
	go func() {
		answer, _ := io.ReadAll(conn)
		received <- answer
	}()
	for _, piece := range [][]byte{stream[:split], stream[split:]} {
		if _, err := conn.Write(piece); err != nil {
			if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
				t.Fatal("the server neither reads nor closes the connection")
			}
			break
		}
	}
	if hangUp {
		conn.Close()
	}
	answer := <-received
	conn.Close()
	return answer
}

// seeds are requests of many types.
func seeds() []wire.Request {
	multi := []wire.Request{
		create("/m", nil, wire.Persistent),
		{Op: wire.OpSetData, Path: "/m", Version: -1},
		{Op: wire.OpCheck, Path: "/m", Version: 1},
		{Op: wire.OpDelete, Path: "/m", Version: -1},
	}
	return []wire.Request{
		create("/a", []byte("data"), wire.Persistent),
		create("/a/n", nil, wire.EphemeralSequential),
		{Op: wire.OpGetData, Path: "/a", Watch: true},
		{Op: wire.OpExists, Path: "/b", Watch: true},
		{Op: wire.OpGetChildren2, Path: "/", Watch: true},
		{Op: wire.OpAddWatch, Path: "/", Mode: wire.RecursiveWatch},
		{Op: wire.OpSetData, Path: "/a", Data: []byte("other"), Version: 0},
		{Op: wire.OpMulti, Ops: multi},
		{Op: wire.OpMultiRead, Ops: []wire.Request{{Op: wire.OpGetData, Path: "/a"}}},
		{Op: wire.OpSetWatches2, Watches: &wire.Watches{
			Data: []string{"/a"}, Child: []string{"/a"},
			Recursive: []string{"/"},
		}},
		{Op: wire.OpRemoveWatches, Path: "/a", Mode: wire.AnyWatcher},
		{Op: wire.OpAuth, Scheme: "digest", Data: []byte("super:test")},
		{
			Op: wire.OpSetACL, Path: "/a", Version: -1,
			ACL: []wire.ACL{{Perms: wire.PermAll, Scheme: "auth"}},
		},
		{Op: wire.OpReconfig, Reconfig: &wire.Reconfig{
			Joining: "server.2=127.0.0.1:1:2;3",
			Version: -1,
		}},
		{Op: wire.OpSync, Path: "/"},
		{Op: wire.OpPing},
		{Op: wire.OpWhoAmI},
		{Op: wire.OpGetEphemerals, Path: "/"},
		{Op: wire.OpDelete, Path: "/a", Version: 7},
		{Op: wire.OpGetData, Path: wire.Null},
		{Op: wire.OpMulti, Ops: []wire.Request{create(wire.Null, nil, wire.Persistent)}},
		{Op: wire.OpAddWatch, Path: wire.Null},
		{Op: wire.OpSetWatches, Watches: &wire.Watches{Data: []string{"/a", wire.Null}}},
		{Op: wire.OpDeleteContainer},
		{Op: wire.OpCreateSession},
		{Op: wire.OpSync, Path: "/\U0001f600"},
		{Op: wire.OpCloseSession},
	}
}
