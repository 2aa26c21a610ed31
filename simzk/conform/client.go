package conform

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// patience is how long a server may take to answer. Only one that does not answer at all needs so
// long.
var patience = 10 * time.Second

// A session is one connection to a server, with nothing between it and the wire: no retry, no ping
// that nobody asked for. Its first error stays, and all that is asked of the session after it fails
// with the same error, so that a caller may look at err once, after several calls.
type session struct {
	wire.ConnectResponse
	responseLength int // of the frame that the ConnectResponse came in

	host       *host
	connection net.Conn
	reader     *bufio.Reader
	forget     func() bool // ends the watch over the context
	out, in    []byte
	xid        int32
	err        error
	closed     bool // the session has been ended, not only the connection

	events []wire.Event // arrived, and not taken yet
	// what arrived, events and replies but those to pings, since somebody last cleared it
	order []string
}

// A reply is what a server has answered to one request.
type reply struct {
	wire.Reply
	length int // of the body, without the header
	err    error
}

// String returns the code of the reply, or how the connection ended instead.
func (r reply) String() string {
	if r.err != nil {
		return outcome(r.err)
	}
	return strconv.Itoa(int(r.Code))
}

// connect opens a connection and sends the first record. The connection is closed when the host's
// context ends. A server that says nothing to the first record is lost.
func connect(h *host, request *wire.ConnectRequest) *session {
	s := dial(h)
	if s.err != nil {
		return s
	}
	var at int
	s.out, at = wire.BeginFrame(s.out[:0])
	s.out = wire.EndFrame(wire.AppendConnectRequest(s.out, request), at)
	s.write(s.out)
	frame := s.frame()
	switch {
	case s.err == nil:
		s.responseLength = len(frame)
		s.fail(wire.DecodeConnectResponse(frame, &s.ConnectResponse))
	case errors.Is(s.err, os.ErrDeadlineExceeded):
		h.lose(&ServerError{h.address, fmt.Errorf("no answer to the first record of a client in %v",
			patience)})
	}
	return s
}

// dial opens a connection on which nothing has been sent yet. A server that cannot be reached is
// lost.
func dial(h *host) *session {
	s := &session{host: h}
	dialer := net.Dialer{Timeout: patience}
	s.connection, s.err = dialer.DialContext(h.ctx, "tcp", h.address)
	if s.err != nil {
		if h.ctx.Err() == nil {
			h.lose(&ServerError{h.address, fmt.Errorf("it cannot be reached: %w", s.err)})
		}
		return s
	}
	s.reader = bufio.NewReader(s.connection)
	s.forget = context.AfterFunc(h.ctx, func() { s.connection.Close() })
	return s
}

func (s *session) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

func (s *session) write(bytes []byte) {
	if s.err == nil {
		_, err := s.connection.Write(bytes)
		s.fail(err)
	}
}

// frame reads the next frame, which is valid until the one after it.
func (s *session) frame() []byte {
	if s.err != nil {
		return nil
	}
	s.fail(s.connection.SetReadDeadline(time.Now().Add(patience)))
	const longer = 1024 // than a request may be, is the reply with what it has written and a stat
	frame, err := wire.ReadFrame(s.reader, s.in, wire.MaxFrame+longer)
	if err != nil {
		s.fail(err)
		return nil
	}
	s.in = frame
	return frame
}

// number gives a request the xid that its type demands.
func (s *session) number(r *wire.Request) {
	switch r.Op {
	case wire.OpPing:
		r.Xid = wire.XidPing
	case wire.OpAuth:
		r.Xid = wire.XidAuth
	case wire.OpSetWatches, wire.OpSetWatches2:
		r.Xid = wire.XidSetWatches
	default:
		s.xid++
		r.Xid = s.xid
	}
}

// send sends requests in one write.
func (s *session) send(requests ...*wire.Request) {
	s.out = s.out[:0]
	for _, r := range requests {
		s.number(r)
		var at int
		s.out, at = wire.BeginFrame(s.out)
		s.out = wire.EndFrame(wire.AppendRequest(s.out, r), at)
	}
	s.write(s.out)
}

// sendBody sends a request whose body need not be what its type demands.
func (s *session) sendBody(op wire.Op, body []byte) {
	s.xid++
	var at int
	s.out, at = wire.BeginFrame(s.out[:0])
	s.out = binary.BigEndian.AppendUint32(s.out, uint32(s.xid))
	s.out = binary.BigEndian.AppendUint32(s.out, uint32(op))
	s.out = wire.EndFrame(append(s.out, body...), at)
	s.write(s.out)
}

// receive reads what comes next, an event or the reply to a request of type op. The event is nil if
// it is a reply. If nothing comes, it looks whether the server answers at all.
func (s *session) receive(op wire.Op) (*wire.Event, reply) {
	open := s.err == nil
	frame := s.frame()
	if open && errors.Is(s.err, os.ErrDeadlineExceeded) {
		s.host.check()
	}
	if s.err != nil {
		return nil, reply{err: s.err}
	}
	xid, _, _, err := wire.ReplyHeader(frame)
	if err == nil && xid == wire.XidEvent {
		event := new(wire.Event)
		s.fail(wire.DecodeEvent(frame, event))
		return event, reply{err: s.err}
	}
	r := reply{length: len(frame) - headerLength}
	s.fail(wire.DecodeReply(frame, op, &r.Reply))
	r.err = s.err
	return nil, r
}

// headerLength is that of the header of a reply.
const headerLength = 16

// reply waits for the reply to a request of type op and keeps the events that arrive before it.
func (s *session) reply(op wire.Op) reply {
	for {
		event, r := s.receive(op)
		switch {
		case event == nil && op == wire.OpPing:
			return r
		case event == nil:
			s.order = append(s.order, fmt.Sprintf("re%d:%d", r.Xid, r.Code))
			return r
		}
		s.events = append(s.events, *event)
		s.order = append(s.order, fmt.Sprintf("ev%d:%s", event.Type, event.Path))
	}
}

// call sends a request and waits for its reply.
func (s *session) call(r *wire.Request) reply {
	s.send(r)
	answer := s.reply(r.Op)
	if answer.err == nil && answer.Xid != r.Xid {
		s.fail(fmt.Errorf("the reply has xid %d, the request had %d", answer.Xid, r.Xid))
		answer.err = s.err
	}
	return answer
}

// callBody is call with a body that need not be what the type demands.
func (s *session) callBody(op wire.Op, body []byte) reply {
	s.sendBody(op, body)
	return s.reply(op)
}

// errNoAnswer says that the server has answered a later request instead.
var errNoAnswer = errors.New("no answer")

// callAndPing is call for a request that the server might never answer: if the reply to a ping that
// follows comes in its place, none will. Of the reply's body nothing is decoded.
func (s *session) callAndPing(r *wire.Request) reply {
	s.send(r, &wire.Request{Op: wire.OpPing})
	_, answer := s.receive(wire.OpPing)
	if answer.err == nil && answer.Xid == wire.XidPing {
		return reply{err: errNoAnswer}
	}
	s.receive(wire.OpPing)
	return answer
}

// takeEvents returns the events that no call of takeEvents has returned. An event is sent before
// the reply of the write that causes it, and a connection keeps its order. So what precedes the
// reply to a ping that follows the writer's reply is all that there is, and nobody needs to wait
// for silence.
func (s *session) takeEvents() []wire.Event {
	s.call(&wire.Request{Op: wire.OpPing})
	events := s.events
	s.events = nil
	return events
}

// deleteAll deletes a node and all below it, as far as it may. It asks for a level of the tree at a
// time.
func (s *session) deleteAll(root string) {
	paths := []string{root}
	for listed := 0; listed < len(paths) && s.err == nil; {
		level := paths[listed:]
		listed = len(paths)
		for i, r := range s.callAll(wire.OpGetChildren, level) {
			for _, name := range r.Children {
				paths = append(paths, level[i]+"/"+name)
			}
		}
	}
	slices.Reverse(paths)
	s.callAll(wire.OpDelete, paths)
}

// callAll sends one request for each path together and waits for the replies.
func (s *session) callAll(op wire.Op, paths []string) []reply {
	requests := make([]*wire.Request, len(paths))
	for i, path := range paths {
		requests[i] = &wire.Request{Op: op, Path: path, Version: anyVersion}
	}
	s.send(requests...)
	replies := make([]reply, len(paths))
	for i := range replies {
		replies[i] = s.reply(op)
	}
	return replies
}

// ending reads until the connection ends and returns how it did.
func (s *session) ending() string {
	for s.err == nil {
		s.frame()
	}
	return ending(s.err)
}

// close ends the session, and then the connection. Replies that nobody has read do not matter. The
// reply to this request does: a session that is asked to end on another connection meanwhile may
// not answer there.
func (s *session) close() {
	request := &wire.Request{Op: wire.OpCloseSession}
	s.send(request)
	for !s.closed {
		frame := s.frame()
		if s.err != nil {
			break
		}
		xid, _, _, err := wire.ReplyHeader(frame)
		s.closed = err == nil && xid == request.Xid
	}
	s.hangUp()
}

// leave ends the connection and keeps the session. It returns when the server has seen it, so that
// what the server does thereafter does not depend on which of two connections it notices first.
func (s *session) leave() {
	if connection, ok := s.connection.(*net.TCPConn); ok && s.err == nil {
		s.fail(connection.CloseWrite())
		s.ending()
	}
	s.hangUp()
}

// hangUp ends the connection.
func (s *session) hangUp() {
	s.fail(net.ErrClosed)
	if s.connection != nil {
		s.forget()
		s.connection.Close()
	}
}

// ending says how a connection ended. A server that closes one with something unread resets it, and
// whether there is depends on when it arrives, so that is called the same.
func ending(err error) string {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "eof"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errNoAnswer.Error()
	}
	return err.Error()
}

// outcome says what came in place of a reply.
func outcome(err error) string {
	if ended := ending(err); ended == errNoAnswer.Error() {
		return ended
	}
	return "closed(" + ending(err) + ")"
}
