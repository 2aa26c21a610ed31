package simzk

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// A pipe is a connection in memory, as its client sees it: a net.Conn whose Read blocks until there
// is something, its deadline or the end, and whose Write never blocks, as TCP's does not while
// there is room. It works in a bubble of virtual time: who waits for it waits on a channel and a
// timer.
type pipe struct {
	mu            sync.Mutex
	toClient      []byte
	toServer      []byte
	pings         bool // are answered at once, those of a real client
	pingsHeld     bool // pings are not answered for now
	heldPings     int  // how many wait for that
	writesFail    bool // of Write, from now on
	ended         bool // by either side
	closed        bool // by the client
	deadline      time.Time
	changed       chan struct{} // closed and replaced when any of the above has changed
	onClientWrite func()        // called when the client has sent something, or has closed
}

func newPipe(arrived func()) *pipe {
	return &pipe{pings: true, changed: make(chan struct{}), onClientWrite: arrived}
}

// broadcast makes every Read that waits look again. The caller holds the lock.
func (p *pipe) broadcast() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// push hands bytes to the client.
func (p *pipe) push(bytes []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.toClient = append(p.toClient, bytes...)
	p.broadcast()
}

// end ends the connection from the server's side. What was pushed before can still be read.
func (p *pipe) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.ended = true
		p.broadcast()
	}
}

// take returns the frames that the client has sent since the last call, without their lengths, and
// whether it has closed the connection.
func (p *pipe) take() (frames [][]byte, closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.toServer) >= 4 {
		length := int(binary.BigEndian.Uint32(p.toServer))
		if len(p.toServer) < 4+length {
			break
		}
		frames = append(frames, p.toServer[4:4+length:4+length])
		p.toServer = p.toServer[4+length:]
	}
	return frames, p.closed
}

// failWrites makes every Write fail.
func (p *pipe) failWrites() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writesFail = true
}

func (p *pipe) closedByClient() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

func (p *pipe) failing() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.writesFail
}

// Read implements net.Conn.
func (p *pipe) Read(b []byte) (int, error) {
	for {
		p.mu.Lock()
		n := copy(b, p.toClient)
		p.toClient = p.toClient[n:]
		ended, deadline, changed := p.ended, p.deadline, p.changed
		p.mu.Unlock()
		wait := time.Until(deadline)
		switch {
		case n > 0 || len(b) == 0:
			return n, nil
		case ended:
			return 0, io.EOF
		case deadline.IsZero():
			<-changed
			continue
		case wait <= 0:
			return 0, os.ErrDeadlineExceeded
		}
		timer := time.NewTimer(wait)
		select {
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// Write implements net.Conn. A ping is answered here: it is no step of a schedule, and neither is
// its reply.
func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	if p.ended || p.writesFail {
		defer p.mu.Unlock()
		if p.writesFail {
			return 0, &net.OpError{
				Op: "write", Net: "memory", Addr: pipeAddress{},
				Err: syscall.EHOSTUNREACH,
			}
		}
		return 0, io.ErrClosedPipe
	}
	if p.pings && isPing(b) {
		p.ping()
		p.mu.Unlock()
		return len(b), nil
	}
	p.toServer = append(p.toServer, b...)
	p.mu.Unlock()
	p.onClientWrite()
	return len(b), nil
}

// ping answers a ping, now or as soon as pings are answered. The caller holds the lock.
func (p *pipe) ping() {
	if p.pingsHeld {
		p.heldPings++
		return
	}
	p.toClient = append(p.toClient, pingReply...)
	p.broadcast()
}

// answerPings says whether pings are answered from now on. Those that have waited are.
func (p *pipe) answerPings(answer bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pingsHeld = !answer
	for ; answer && p.heldPings > 0; p.heldPings-- {
		p.ping()
	}
}

// isPing tells whether b is the frame of a ping. The client writes frame by frame.
func isPing(b []byte) bool {
	return len(b) == 12 && int32(binary.BigEndian.Uint32(b[4:])) == wire.XidPing
}

// pingReply is the frame of the reply to a ping. The client looks at nothing but its xid.
var pingReply = func() []byte {
	frame, at := wire.BeginFrame(nil)
	return wire.EndFrame(wire.AppendReply(frame, wire.OpPing, &wire.Reply{Xid: wire.XidPing}), at)
}()

// Close implements net.Conn.
func (p *pipe) Close() error {
	p.mu.Lock()
	tell := !p.ended
	if tell {
		p.ended, p.closed = true, true
		p.broadcast()
	}
	p.mu.Unlock()
	if tell {
		p.onClientWrite()
	}
	return nil
}

// SetReadDeadline implements net.Conn.
func (p *pipe) SetReadDeadline(t time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deadline = t
	p.broadcast()
	return nil
}

// SetWriteDeadline implements net.Conn. A Write never waits.
func (p *pipe) SetWriteDeadline(time.Time) error { return nil }

// SetDeadline implements net.Conn.
func (p *pipe) SetDeadline(t time.Time) error { return p.SetReadDeadline(t) }

// LocalAddr implements net.Conn.
func (p *pipe) LocalAddr() net.Addr { return pipeAddress{} }

// RemoteAddr implements net.Conn.
func (p *pipe) RemoteAddr() net.Addr { return pipeAddress{} }

type pipeAddress struct{}

func (pipeAddress) Network() string { return "memory" }
func (pipeAddress) String() string  { return "memory" }
