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

// A pipeListener accepts connections in memory.
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

// dial connects to whoever accepts.
func (l *pipeListener) dial() net.Conn {
	client, server := net.Pipe()
	l.connections <- pipeEnd{server}
	return pipeEnd{client}
}

// A pipeEnd is an end of a pipe that leaves no timer behind. Thousands of tests in a second would
// leave so many that nothing else ran once they are due.
type pipeEnd struct{ net.Conn }

// Close implements net.Conn.
func (e pipeEnd) Close() error {
	e.SetDeadline(time.Time{})
	return e.Conn.Close()
}

// fuzzPatience is how long a test waits for what must happen. Go's fuzzer gives up after ten
// seconds, and does not say on what.
const fuzzPatience = 8 * time.Second

// FuzzConnection sends arbitrary bytes over a connection, in two pieces, while its client reads all
// that it gets. The server must not fail, must end the connection when the client does, and must
// then still serve others.
func FuzzConnection(f *testing.F) {
	for _, word := range []string{
		"", "ruok", "srvr", "mntr", "stmk12345678", "stmk", "dump", "zzzz",
		"\x80\x00\x00\x00", "\x00\x00\x00\x00",
	} {
		f.Add([]byte(word), uint(2))
	}
	session := greeting(4 * time.Second)
	xid := int32(0)
	for _, r := range seeds() {
		xid++
		r.Xid = xid
		f.Add(append(greeting(4*time.Second), framed(&r)...), uint(60))
		session = append(session, framed(&r)...)
	}
	f.Add(session, uint(100))
	f.Fuzz(func(t *testing.T, stream []byte, cut uint) {
		listener := newPipeListener()
		server := tcp.Serve(tcp.Config{Cluster: simzk.Config{
			ExtendedTypes: true, Reconfig: true,
			SuperDigest: "super:D/InIHSb7yEEbrWz8b9l71RjZJU=",
		}}, listener)
		converse(t, listener.dial(), true, stream, int(cut%(uint(len(stream))+1)))
		if answer := string(converse(t, listener.dial(), false, []byte("ruok"),
			0)); answer != "imok" {
			t.Errorf("the server answers %q", answer)
		}
		finished := make(chan error)
		go func() { finished <- server.Close() }()
		select {
		case err := <-finished:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(fuzzPatience):
			t.Fatal("the server does not end")
		}
	})
}

// converse writes the bytes in two pieces, and ends the connection once the server has taken them
// or waits until the server does. It returns what the server has sent.
func converse(t *testing.T, conn net.Conn, hangUp bool, stream []byte, cut int) []byte {
	conn.SetDeadline(time.Now().Add(fuzzPatience))
	received := make(chan []byte)
	go func() {
		answer, _ := io.ReadAll(conn)
		received <- answer
	}()
	for _, piece := range [][]byte{stream[:cut], stream[cut:]} {
		if _, err := conn.Write(piece); err != nil {
			if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
				t.Fatal("the server neither reads nor ends the connection")
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
