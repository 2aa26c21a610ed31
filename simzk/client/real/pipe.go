package real

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/interlock-sim/interlock/internal/base/refusal"
	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A pipe is the client's end of an in-memory connection. It is a net.Conn whose Read blocks until
// there is data, until its deadline or until the end, and whose Write never blocks, like TCP with
// free buffer space. It works in a bubble of virtual time, as it blocks only on channels and
// timers.
type pipe struct {
	mu            sync.Mutex
	toClient      []byte
	toServer      []byte
	pings         bool        // pings are answered at once; for a real client
	pingsHeld     bool        // pings are not answered for now
	heldPings     int         // number of pings to be answered later
	answers       []time.Time // when the answers to pings arrive that are in transit
	writesFail    bool        // every Write fails
	paused        bool        // the client's process is paused; Read waits
	stopped       bool        // the client's process has crashed; Read and Write wait
	foreign       bool        // no patched client library has it
	ended         bool        // closed by either side
	closed        bool        // closed by the client
	deadline      time.Time
	changed       chan struct{} // closed and replaced at every change of the above
	onClientWrite func()        // called when the client has written or closed
	roundTrip     func() time.Duration
}

// newPipe returns a pipe that calls a function when the client has written or closed. The answer to
// a ping arrives after a round trip.
func newPipe(arrived func(), roundTrip func() time.Duration) *pipe {
	return &pipe{
		pings: true, changed: make(chan struct{}), onClientWrite: arrived, roundTrip: roundTrip,
	}
}

// broadcast wakes every waiting Read. The caller holds the lock.
func (p *pipe) broadcast() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// push sends bytes to the client.
func (p *pipe) push(bytes []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.toClient = append(p.toClient, bytes...)
	p.broadcast()
}

// end closes the connection from the server's side. Bytes pushed before can still be read.
func (p *pipe) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.broadcast()
}

// take returns the frames that the client has sent since the last call, without their length
// prefixes, and whether the client has closed the connection.
func (p *pipe) take() (frames [][]byte, closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	frames, p.toServer = splitFrames(p.toServer)
	return frames, p.closed
}

// splitFrames returns the complete frames in the bytes, without their length prefixes, and the
// rest.
func splitFrames(bytes []byte) (frames [][]byte, rest []byte) {
	for len(bytes) >= 4 {
		length := int(binary.BigEndian.Uint32(bytes))
		if len(bytes) < 4+length {
			break
		}
		frames = append(frames, bytes[4:4+length:4+length])
		bytes = bytes[4+length:]
	}
	return frames, bytes
}

// peek returns the first frame that [pipe.take] will return, or nil if there is none yet.
func (p *pipe) peek() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if frames, _ := splitFrames(p.toServer); len(frames) > 0 {
		return frames[0]
	}
	return nil
}

// failWrites makes every later Write fail.
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
		paused := p.stopped || p.paused && !p.closed
		n := 0
		if !paused {
			p.receiveAnswers()
			n = copy(b, p.toClient)
			p.toClient = p.toClient[n:]
		}
		ended, deadline, changed := p.ended, p.deadline, p.changed
		wake := p.nextAnswer(deadline)
		p.mu.Unlock()
		wait := time.Until(deadline)
		switch {
		case paused:
			<-changed
			continue
		case n > 0 || len(b) == 0:
			return n, nil
		case ended:
			return 0, io.EOF
		case wake.IsZero():
			<-changed
			continue
		case wait <= 0 && !deadline.IsZero():
			return 0, os.ErrDeadlineExceeded
		}
		timer := time.NewTimer(time.Until(wake))
		select {
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// Write implements net.Conn. It answers pings itself: neither a ping nor its reply is a step of a
// schedule.
func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	if p.foreign && len(b) > 4 && int(binary.BigEndian.Uint32(b)) == len(b)-4 {
		p.mu.Unlock()
		panic(unknownClient)
	}
	for p.stopped {
		changed := p.changed
		p.mu.Unlock()
		<-changed
		p.mu.Lock()
	}
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

// unknownClient refuses a client library that is not patched: it sends a frame of the protocol over
// a connection that another function than its dialer has opened.
const unknownClient = refusal.Mark + "the ZooKeeper client that dials here: its calls would not " +
	"end with the run; " + refusal.Libraries

// ping answers a ping, now or when pings are next answered. The caller holds the lock.
func (p *pipe) ping() {
	if p.pingsHeld || p.paused {
		p.heldPings++
		return
	}
	if latency := p.roundTrip(); latency > 0 {
		p.answers = append(p.answers, time.Now().Add(latency))
	} else {
		p.toClient = append(p.toClient, pingReply...)
	}
	p.broadcast()
}

// receiveAnswers receives the answers to pings that have arrived. The caller holds the lock.
func (p *pipe) receiveAnswers() {
	for len(p.answers) > 0 && !p.pingsHeld && !p.answers[0].After(time.Now()) {
		p.answers, p.toClient = p.answers[1:], append(p.toClient, pingReply...)
	}
}

// nextAnswer returns the deadline, or when the next answer to a ping arrives if that is earlier.
// The caller holds the lock.
func (p *pipe) nextAnswer(deadline time.Time) time.Time {
	if len(p.answers) > 0 && !p.pingsHeld &&
		(deadline.IsZero() || p.answers[0].Before(deadline)) {
		return p.answers[0]
	}
	return deadline
}

// stop makes the client notice nothing of the connection until the end of the run.
func (p *pipe) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	p.broadcast()
}

// abandon ends the connection at the end of a run, even that of a paused or crashed process.
func (p *pipe) abandon() {
	p.mu.Lock()
	p.paused, p.stopped = false, false
	p.mu.Unlock()
	p.end()
}

// answerPings sets whether pings are answered from now on. If so, it answers the held ones.
func (p *pipe) answerPings(answer bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pingsHeld = !answer
	p.answerHeldPings()
	if len(p.answers) > 0 {
		p.broadcast()
	}
}

// answerHeldPings answers the held pings if pings are answered. The caller holds the lock.
func (p *pipe) answerHeldPings() {
	for ; !p.pingsHeld && !p.paused && p.heldPings > 0; p.heldPings-- {
		p.toClient = append(p.toClient, pingReply...)
		p.broadcast()
	}
}

// pause makes the client notice nothing of the connection until resume.
func (p *pipe) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = true
	p.broadcast()
}

// resume ends a pause. A deadline that has passed meanwhile comes before the answers to pings, so
// settle is called in between.
func (p *pipe) resume(settle func()) {
	p.mu.Lock()
	p.paused = false
	p.broadcast()
	p.mu.Unlock()
	settle()
	p.mu.Lock()
	p.answerHeldPings()
	p.mu.Unlock()
	settle()
}

// isPing reports whether b is the frame of a ping. The client writes frame by frame.
func isPing(b []byte) bool {
	return len(b) == 12 && int32(binary.BigEndian.Uint32(b[4:])) == wire.XidPing
}

// pingReply is the frame of the reply to a ping. The client reads only its xid.
var pingReply = func() []byte {
	frame, at := wire.BeginFrame(nil)
	frame = operation.AppendReply(frame, wire.OpPing, &wire.Reply{Xid: wire.XidPing})
	return wire.EndFrame(frame, at)
}()

// Close implements net.Conn.
func (p *pipe) Close() error {
	p.mu.Lock()
	closing := !p.ended
	if closing {
		p.ended, p.closed = true, true
		p.broadcast()
	}
	p.mu.Unlock()
	if closing {
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

// SetWriteDeadline implements net.Conn. It has no effect, as Write never blocks.
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
