package conform_test

import (
	"io"
	"net"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/interlock-sim/interlock/simzk/conform"
	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A mutator modifies the messages of one connection to a server. Each function may be nil.
type mutator struct {
	request func(*wire.Request)
	reply   func(wire.Op, *wire.Reply)
	// returns the frames to send in place of a frame of the server
	frame func(frame []byte, event bool) [][]byte
	// reports whether the server's first frame is forwarded
	first func() bool
}

// startProxy starts a proxy to a server, with a new mutator for each connection, and returns its
// address.
func startProxy(t *testing.T, server string, newMutator func() mutator) string {
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
			connections.Go(func() { proxy(client, server, newMutator()) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		connections.Wait()
	})
	return listener.Addr().String()
}

func proxy(client net.Conn, address string, s mutator) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	l := &link{mutator: s}
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

// forward forwards frames until one side closes. The first is forwarded unchanged if passes allows
// it, and others are replaced by change.
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

// A link is a connection with the types of its pending requests.
type link struct {
	mutator
	mu      sync.Mutex
	pending []wire.Op
}

func (l *link) fromClient(frame []byte) [][]byte {
	var r wire.Request
	err := operation.DecodeRequest(frame, &r)
	l.mu.Lock()
	l.pending = append(l.pending, r.Op)
	l.mu.Unlock()
	if l.request != nil && err == nil {
		l.request(&r)
		frame = operation.AppendRequest(nil, &r)
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
		if l.reply != nil && operation.DecodeReply(frame, op, &r) == nil &&
			operation.DecodeReply(frame, op, &before) == nil {
			// Some errors are encoded with more than a Reply holds, so an unchanged frame must not
			// be encoded again.
			if l.reply(op, &r); !reflect.DeepEqual(r, before) {
				frame = operation.AppendReply(nil, op, &r)
			}
		}
	}
	if l.frame != nil {
		return l.frame(frame, event)
	}
	return [][]byte{frame}
}

// TestProxy checks that a proxy without mutations causes no differences.
func TestProxy(t *testing.T) {
	server := startProxy(t, sharedReal(t, 0), func() mutator {
		return mutator{request: func(*wire.Request) {}, reply: func(wire.Op, *wire.Reply) {}}
	})
	if difference, _, err := conform.Differ(t.Context(),
		options(server, sharedReal(t, 1))); difference != nil || err != nil {
		t.Error(difference, err)
	}
}
