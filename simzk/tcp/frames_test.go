package tcp_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// checkAlive checks that the server serves a new client.
func checkAlive(t *testing.T, address string) {
	t.Helper()
	c, _ := open(t, address, time.Second)
	if reply := c.call(wire.Request{Op: wire.OpExists, Path: "/"}); reply.Code != wire.OK {
		t.Fatalf("the server responds %v", reply.Code)
	}
	c.call(wire.Request{Op: wire.OpCloseSession})
	c.awaitEnd()
}

// TestGarbage sends random bytes before and within a session. The server closes only those
// connections.
func TestGarbage(t *testing.T) {
	_, address := single(t, simzk.Config{})
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		garbage := make([]byte, 1+random.IntN(200))
		for i := range garbage {
			garbage[i] = byte(random.Uint32())
		}
		c := dial(t, address)
		if random.IntN(2) == 0 {
			c, _ = open(t, address, time.Second)
		}
		c.conn.Write(garbage)
		c.conn.(*net.TCPConn).CloseWrite()
		c.awaitEnd()
	}
	checkAlive(t, address)
}

// TestBytewise sends a handshake and a request one byte at a time.
func TestBytewise(t *testing.T) {
	_, address := single(t, simzk.Config{})
	c := dial(t, address)
	for _, b := range handshake(time.Second) {
		c.write([]byte{b})
	}
	c.read()
	for _, b := range framed(&wire.Request{Xid: 7, Op: wire.OpExists, Path: "/"}) {
		c.write([]byte{b})
	}
	if reply := c.reply(wire.OpExists); reply.Xid != 7 || reply.Code != wire.OK {
		t.Errorf("%+v", reply)
	}
}

// TestPartialFrames closes connections within frames.
func TestPartialFrames(t *testing.T) {
	_, address := single(t, simzk.Config{})
	whole := append(handshake(time.Second),
		framed(&wire.Request{Xid: 1, Op: wire.OpExists, Path: "/"})...)
	for length := range whole {
		c := dial(t, address)
		c.write(whole[:length])
		c.conn.(*net.TCPConn).CloseWrite()
		c.awaitEnd()
	}
	checkAlive(t, address)
}

// TestPipelined sends requests and the end of the session without waiting. All are answered.
func TestPipelined(t *testing.T) {
	_, address := single(t, simzk.Config{})
	c := dial(t, address)
	stream := handshake(time.Second)
	const requests = 1000
	for i := range requests {
		r := create(fmt.Sprintf("/n%d", i), nil, wire.Ephemeral)
		r.Xid = int32(i + 1)
		stream = append(stream, framed(&r)...)
	}
	stream = append(stream, framed(&wire.Request{Xid: requests + 1, Op: wire.OpCloseSession})...)
	c.write(stream)
	c.conn.(*net.TCPConn).CloseWrite()
	c.read()
	for i := range requests {
		if reply := c.reply(wire.OpCreate); reply.Xid != int32(i+1) || reply.Code != wire.OK {
			t.Fatalf("reply %d: %+v", i, reply)
		}
	}
	if reply := c.reply(wire.OpCloseSession); reply.Xid != requests+1 || reply.Code != wire.OK {
		t.Errorf("reply to closeSession: %+v", reply)
	}
	if rest := c.awaitEnd(); len(rest) > 0 {
		t.Errorf("received %q after the end of the session", rest)
	}
}

// TestFrameLength sends a frame of the maximum length, which is served, and invalid lengths, which
// close the connection.
func TestFrameLength(t *testing.T) {
	_, address := single(t, simzk.Config{})
	c, _ := open(t, address, time.Second)
	r := create("/big", nil, wire.Persistent)
	r.Data = make([]byte, wire.MaxFrame+4-len(framed(&r)))
	if reply := c.call(r); reply.Code != wire.OK {
		t.Errorf("a frame of %d bytes: %v", wire.MaxFrame, reply.Code)
	}
	if reply := c.call(wire.Request{
		Op:   wire.OpGetData,
		Path: "/big",
	}); len(reply.Data) != len(r.Data) {
		t.Errorf("%d bytes, want %d", len(reply.Data), len(r.Data))
	}
	for _, length := range []uint32{wire.MaxFrame + 1, 1 << 31, 0xffffffff, 0x7fffffff} {
		for _, connected := range []bool{false, true} {
			c := dial(t, address)
			if connected {
				c, _ = open(t, address, time.Second)
			}
			c.write(binary.BigEndian.AppendUint32(nil, length))
			if rest := c.awaitEnd(); len(rest) > 0 {
				t.Errorf("length %#x is answered with %q", length, rest)
			}
		}
	}
	checkAlive(t, address)
}

// TestFourLetterWordInSession sends a four-letter word within a session, where it is an invalid
// frame length.
func TestFourLetterWordInSession(t *testing.T) {
	_, address := single(t, simzk.Config{})
	c, _ := open(t, address, time.Second)
	c.write([]byte("ruok"))
	if rest := c.awaitEnd(); len(rest) > 0 {
		t.Errorf("response %q", rest)
	}
}

// TestSlowReader requests much data without reading it while other clients are served, and then
// reads all of it.
func TestSlowReader(t *testing.T) {
	const size, reads = 1_000_000, 60
	_, address := single(t, simzk.Config{})
	slow, _ := open(t, address, 40*time.Second)
	data := bytes.Repeat([]byte("x"), size)
	if reply := slow.call(create("/big", data, wire.Persistent)); reply.Code != wire.OK {
		t.Fatal(reply.Code)
	}
	for range reads {
		slow.send(wire.Request{Op: wire.OpGetData, Path: "/big"})
	}
	for range 100 {
		checkAlive(t, address)
	}
	for range reads {
		if reply := slow.reply(wire.OpGetData); len(reply.Data) != size {
			t.Fatalf("%d bytes", len(reply.Data))
		}
	}
}

// TestWatcherNotReading sets a persistent watch and never reads its events. The server drops the
// connection before the events exhaust memory, and serves other clients meanwhile.
func TestWatcherNotReading(t *testing.T) {
	s, address := single(t, simzk.Config{})
	watcher, session := open(t, address, 40*time.Second)
	writer, _ := open(t, address, 40*time.Second)
	path := "/" + string(bytes.Repeat([]byte("x"), 500_000))
	writer.call(create(path, nil, wire.Persistent))
	if reply := watcher.call(wire.Request{
		Op: wire.OpAddWatch, Path: path,
		Mode: wire.PersistentWatch,
	}); reply.Code != wire.OK {
		t.Fatal(reply.Code)
	}
	dropped := func() bool {
		for _, info := range s.Sessions() {
			if info.ID == session.SessionID {
				return info.Server < 0
			}
		}
		return false
	}
	for range 1000 {
		if dropped() {
			return
		}
		if reply := writer.call(wire.Request{
			Op: wire.OpSetData, Path: path,
			Version: -1,
		}); reply.Code != wire.OK {
			t.Fatal(reply.Code)
		}
	}
	t.Error("the connection is not dropped")
}

// TestManyConnections opens and closes ten thousand connections: unused, with a partial handshake,
// with a session, and with a four-letter word. The server must forget all of them.
func TestManyConnections(t *testing.T) {
	const connections, workers = 10_000, 100
	s, address := single(t, simzk.Config{})
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := range connections / workers {
				conn, err := net.Dial("tcp", address)
				if err != nil {
					t.Error(err)
					return
				}
				c := &rawClient{t: t, conn: conn}
				conn.SetDeadline(time.Now().Add(testTimeout))
				switch (w + i) % 4 {
				case 1:
					conn.Write(handshake(time.Second)[:20])
				case 2:
					// The session must not expire before the final count.
					conn.Write(handshake(40 * time.Second))
				case 3:
					conn.Write([]byte("srvr"))
				}
				conn.(*net.TCPConn).CloseWrite()
				c.awaitEnd() // The server closes a connection after removing it.
				conn.Close()
			}
		})
	}
	group.Wait()
	if status := s.Status(); status.Servers[0].Connections != 0 ||
		status.Sessions != connections/4 {
		t.Errorf("status %+v", status)
	}
	checkAlive(t, address)
}
