package conform_test

import (
	"io"
	"net"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/interlock-sim/interlock/simzk/conform"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A saboteur sits on one connection to a server and changes what it carries. Each of its functions
// may be nil.
type saboteur struct {
	request func(*wire.Request)
	reply   func(wire.Op, *wire.Reply)
	// returns what is sent instead of a frame of the server
	frame func(frame []byte, event bool) [][]byte
	// tells whether the server's first frame is passed on
	first func() bool
}

// startProxy starts a proxy to a server, with a saboteur for every connection, and returns its
// address.
func startProxy(t *testing.T, server string, newSaboteur func() saboteur) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var connections sync.WaitGroup
	connections.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Go(func() { proxy(client, server, newSaboteur()) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		connections.Wait()
	})
	return listener.Addr().String()
}

func proxy(client net.Conn, address string, s saboteur) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	l := &link{saboteur: s}
	var requests sync.WaitGroup
	requests.Go(func() {
		forward(client, server, nil, l.fromClient)
		server.(*net.TCPConn).CloseWrite()
	})
	forward(server, client, s.first, l.fromServer)
	server.Close()
	client.Close()
	requests.Wait()
}

// forward passes frames on, the first as it is, if at all, and what change makes of the others,
// until one side closes.
func forward(from io.Reader, to io.Writer, passes func() bool, change func([]byte) [][]byte) {
	for first := true; ; first = false {
		frame, err := wire.ReadFrame(from, nil, wire.MaxFrame)
		if err != nil {
			return
		}
		frames := [][]byte{frame}
		switch {
		case !first:
			frames = change(frame)
		case passes != nil && !passes():
			frames = nil
		}
		for _, f := range frames {
			framed, at := wire.BeginFrame(nil)
			if _, err := to.Write(wire.EndFrame(append(framed, f...), at)); err != nil {
				return
			}
		}
	}
}

// A link knows which replies a connection awaits.
type link struct {
	saboteur
	mu      sync.Mutex
	pending []wire.Op
}

func (l *link) fromClient(frame []byte) [][]byte {
	var r wire.Request
	err := wire.DecodeRequest(frame, &r)
	l.mu.Lock()
	l.pending = append(l.pending, r.Op)
	l.mu.Unlock()
	if l.request != nil && err == nil {
		l.request(&r)
		frame = wire.AppendRequest(nil, &r)
	}
	return [][]byte{frame}
}

func (l *link) fromServer(frame []byte) [][]byte {
	xid, _, _, err := wire.ReplyHeader(frame)
	event := err == nil && xid == wire.XidEvent
	if !event {
		l.mu.Lock()
		op := l.pending[0]
		l.pending = slices.Delete(l.pending, 0, 1)
		l.mu.Unlock()
		var before, r wire.Reply
		if l.reply != nil && wire.DecodeReply(frame, op, &r) == nil &&
			wire.DecodeReply(frame, op, &before) == nil {
			// The encoding of some errors has more than a reply holds, so what is not changed must
			// not be encoded again.
			if l.reply(op, &r); !reflect.DeepEqual(r, before) {
				frame = wire.AppendReply(nil, op, &r)
			}
		}
	}
	if l.frame != nil {
		return l.frame(frame, event)
	}
	return [][]byte{frame}
}

// A proxy that changes nothing must not be noticed, or it would be found in place of the sabotage.
func TestProxy(t *testing.T) {
	server := startProxy(t, startReal(t), func() saboteur {
		return saboteur{request: func(*wire.Request) {}, reply: func(wire.Op, *wire.Reply) {}}
	})
	if difference, _, err := conform.Differ(t.Context(),
		options(server, startReal(t))); difference != nil || err != nil {
		t.Error(difference, err)
	}
}
