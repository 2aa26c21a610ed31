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

// alive fails the test if the server does not serve.
func alive(t *testing.T, address string) {
	t.Helper()
	c, _ := open(t, address, time.Second)
	if reply := c.call(wire.Request{Op: wire.OpExists, Path: "/"}); reply.Code != wire.OK {
		t.Fatalf("the server answers %v", reply.Code)
	}
	c.call(wire.Request{Op: wire.OpCloseSession})
	c.awaitEnd()
}

// TestGarbage sends bytes that mean nothing, at the beginning and within a session. The server ends
// those connections, and no others.
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
	alive(t, address)
}

// TestBytewise sends a handshake and a request byte by byte.
func TestBytewise(t *testing.T) {
	_, address := single(t, simzk.Config{})
	c := dial(t, address)
	for _, b := range greeting(time.Second) {
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

// TestHalfFrames ends connections amid frames.
func TestHalfFrames(t *testing.T) {
	_, address := single(t, simzk.Config{})
	whole := append(greeting(time.Second),
		framed(&wire.Request{Xid: 1, Op: wire.OpExists, Path: "/"})...)
	for length := range whole {
		c := dial(t, address)
		c.write(whole[:length])
		c.conn.(*net.TCPConn).CloseWrite()
		c.awaitEnd()
	}
	alive(t, address)
}

// TestPipelined sends requests and the end of the session without waiting for answers, all of which
// come.
func TestPipelined(t *testing.T) {
	_, address := single(t, simzk.Config{})
	c := dial(t, address)
	stream := greeting(time.Second)
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
		t.Errorf("the session's end: %+v", reply)
	}
	if rest := c.awaitEnd(); len(rest) > 0 {
		t.Errorf("after the session's end comes %q", rest)
	}
}

// TestFrameLength sends a frame of the greatest length, which is served, and others whose lengths
// end the connection.
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
		t.Errorf("%d bytes, not %d", len(reply.Data), len(r.Data))
	}
	for _, length := range []uint32{wire.MaxFrame + 1, 1 << 31, 0xffffffff, 0x7fffffff} {
		for _, greeted := range []bool{false, true} {
			c := dial(t, address)
			if greeted {
				c, _ = open(t, address, time.Second)
			}
			c.write(binary.BigEndian.AppendUint32(nil, length))
			if rest := c.awaitEnd(); len(rest) > 0 {
				t.Errorf("length %#x is answered: %q", length, rest)
			}
		}
	}
	alive(t, address)
}

// TestWordInSession sends a four-letter word where it is the length of a frame, and too great a
// one.
func TestWordInSession(t *testing.T) {
	_, address := single(t, simzk.Config{})
	c, _ := open(t, address, time.Second)
	c.write([]byte("ruok"))
	if rest := c.awaitEnd(); len(rest) > 0 {
		t.Errorf("answer %q", rest)
	}
}

// TestSlowReader asks for much and reads nothing, while another client is served. What was asked
// for comes in the end.
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
		alive(t, address)
	}
	for range reads {
		if reply := slow.reply(wire.OpGetData); len(reply.Data) != size {
			t.Fatalf("%d bytes", len(reply.Data))
		}
	}
}

// TestDeafWatcher sets a watch that stays and reads nothing of what it tells. The server drops the
// connection before the messages take all of its memory, and nobody else waits.
func TestDeafWatcher(t *testing.T) {
	s, address := single(t, simzk.Config{})
	deaf, session := open(t, address, 40*time.Second)
	busy, _ := open(t, address, 40*time.Second)
	path := "/" + string(bytes.Repeat([]byte("x"), 500_000))
	busy.call(create(path, nil, wire.Persistent))
	if reply := deaf.call(wire.Request{
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
		if reply := busy.call(wire.Request{
			Op: wire.OpSetData, Path: path,
			Version: -1,
		}); reply.Code != wire.OK {
			t.Fatal(reply.Code)
		}
	}
	t.Error("the connection is never dropped")
}

// TestManyConnections opens ten thousand connections and drops them, some without a word, some amid
// the handshake, some with a session. The server forgets them all.
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
				c := &raw{t: t, conn: conn}
				conn.SetDeadline(time.Now().Add(patience))
				switch (w + i) % 4 {
				case 1:
					conn.Write(greeting(time.Second)[:20])
				case 2:
					// It must not expire before it is counted.
					conn.Write(greeting(40 * time.Second))
				case 3:
					conn.Write([]byte("srvr"))
				}
				conn.(*net.TCPConn).CloseWrite()
				c.awaitEnd() // The server ends a connection when it has forgotten it.
				conn.Close()
			}
		})
	}
	group.Wait()
	if status := s.Status(); status.Servers[0].Connections != 0 ||
		status.Sessions != connections/4 {
		t.Errorf("status %+v", status)
	}
	alive(t, address)
}
