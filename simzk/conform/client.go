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

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// responseTimeout is the time a server has to respond. Only a stopped server exceeds it.
var responseTimeout = 10 * time.Second

// A session is a raw connection to a server, without retries or automatic pings. After the first
// error all its methods fail with the same error, so a caller may check err once after several
// calls.
type session struct {
	wire.ConnectResponse
	responseLength int // length of the ConnectResponse's frame

	host         *host
	connection   net.Conn
	reader       *bufio.Reader
	stopWatching func() bool // releases the context's AfterFunc
	out, in      []byte
	xid          int32
	err          error
	closed       bool // the session was closed, not only the connection

	events []wire.Event // received but not taken
	// events and replies received since a caller last cleared it, except replies to pings
	arrivals []string
}

// A reply is the reply to one request, or the error that replaced it.
type reply struct {
	wire.Reply
	length int // length of the body
	err    error
}

// String returns the reply's code, or how the connection ended.
func (r reply) String() string {
	if r.err != nil {
		return outcome(r.err)
	}
	return strconv.Itoa(int(r.Code))
}

// connect opens a connection and performs the handshake. The end of the host's context closes the
// connection. If the server does not respond, connect fails the host.
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
		h.fail(&ServerError{h.address, fmt.Errorf("no response to the handshake in %v",
			responseTimeout)})
	}
	return s
}

// dial opens a connection without a handshake. If the server cannot be reached, dial fails the
// host.
func dial(h *host) *session {
	s := &session{host: h}
	dialer := net.Dialer{Timeout: responseTimeout}
	s.connection, s.err = dialer.DialContext(h.ctx, "tcp", h.address)
	if s.err != nil {
		if h.ctx.Err() == nil {
			h.fail(&ServerError{h.address, fmt.Errorf("it cannot be reached: %w", s.err)})
		}
		return s
	}
	s.reader = bufio.NewReader(s.connection)
	s.stopWatching = context.AfterFunc(h.ctx, func() { s.connection.Close() })
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

// frame reads the next frame, which is valid until the next call.
func (s *session) frame() []byte {
	if s.err != nil {
		return nil
	}
	s.fail(s.connection.SetReadDeadline(time.Now().Add(responseTimeout)))
	const extra = 1024 // a reply may exceed the request whose data it returns, by its stat
	frame, err := wire.ReadFrame(s.reader, s.in, wire.MaxFrame+extra)
	if err != nil {
		s.fail(err)
		return nil
	}
	s.in = frame
	return frame
}

// assignXid sets the xid that the request's type requires.
func (s *session) assignXid(r *wire.Request) {
	if r.Xid = operation.Of(r.Op).Xid; r.Xid == 0 {
		s.xid++
		r.Xid = s.xid
	}
}

// send pipelines requests in one write.
func (s *session) send(requests ...*wire.Request) {
	s.out = s.out[:0]
	for _, r := range requests {
		s.assignXid(r)
		var at int
		s.out, at = wire.BeginFrame(s.out)
		s.out = wire.EndFrame(operation.AppendRequest(s.out, r), at)
	}
	s.write(s.out)
}

// sendBody sends a request with an arbitrary body.
func (s *session) sendBody(op wire.Op, body []byte) {
	s.xid++
	var at int
	s.out, at = wire.BeginFrame(s.out[:0])
	s.out = binary.BigEndian.AppendUint32(s.out, uint32(s.xid))
	s.out = binary.BigEndian.AppendUint32(s.out, uint32(op))
	s.out = wire.EndFrame(append(s.out, body...), at)
	s.write(s.out)
}

// receive reads the next message: an event, or the reply to a request of type op, in which case the
// event is nil. If nothing arrives, it checks whether the server still responds.
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
	s.fail(operation.DecodeReply(frame, op, &r.Reply))
	r.err = s.err
	return nil, r
}

// headerLength is the length of a reply's header.
const headerLength = 16

// reply waits for the reply to a request of type op and stores the events that precede it.
func (s *session) reply(op wire.Op) reply {
	for {
		event, r := s.receive(op)
		switch {
		case event == nil && op == wire.OpPing:
			return r
		case event == nil:
			s.arrivals = append(s.arrivals, fmt.Sprintf("re%d:%d", r.Xid, r.Code))
			return r
		}
		s.events = append(s.events, *event)
		s.arrivals = append(s.arrivals, fmt.Sprintf("ev%d:%s", event.Type, event.Path))
	}
}

// call sends a request and waits for its reply.
func (s *session) call(r *wire.Request) reply {
	s.send(r)
	answer := s.reply(r.Op)
	if answer.err == nil && answer.Xid != r.Xid {
		s.fail(fmt.Errorf("reply has xid %d, request had %d", answer.Xid, r.Xid))
		answer.err = s.err
	}
	return answer
}

// callBody is call with an arbitrary body.
func (s *session) callBody(op wire.Op, body []byte) reply {
	s.sendBody(op, body)
	return s.reply(op)
}

// errNoAnswer means that the server has answered a later request instead.
var errNoAnswer = errors.New("no answer")

// callAndPing is call for a request that the server may never answer. It sends a ping behind the
// request and returns errNoAnswer if the ping is answered first. It does not decode the reply's
// body.
func (s *session) callAndPing(r *wire.Request) reply {
	s.send(r, &wire.Request{Op: wire.OpPing})
	_, answer := s.receive(wire.OpPing)
	if answer.err == nil && answer.Xid == wire.XidPing {
		return reply{err: errNoAnswer}
	}
	s.receive(wire.OpPing)
	return answer
}

// takeEvents returns all events since its last call. A server sends an event before the reply to
// the write that causes it, and a connection preserves order. So after the writer has its reply,
// the reply to a ping follows all events, and no delay is necessary.
func (s *session) takeEvents() []wire.Event {
	s.call(&wire.Request{Op: wire.OpPing})
	events := s.events
	s.events = nil
	return events
}

// deleteAll deletes a node and its descendants, as far as permitted. It lists one level of the tree
// at a time.
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

// callAll pipelines one request for each path and waits for the replies.
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

// awaitEnd reads until the connection ends and returns the reason.
func (s *session) awaitEnd() string {
	for s.err == nil {
		s.frame()
	}
	return endReason(s.err)
}

// close closes the session and then the connection. It skips unread replies but waits for the reply
// to closeSession: a session that is taken over meanwhile may not be answered.
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
	s.closeConnection()
}

// disconnect closes the connection and keeps the session. It waits until the server has closed its
// end. Otherwise the server's behaviour would depend on which of two connections it sees end first.
func (s *session) disconnect() {
	if connection, ok := s.connection.(*net.TCPConn); ok && s.err == nil {
		s.fail(connection.CloseWrite())
		s.awaitEnd()
	}
	s.closeConnection()
}

// closeConnection closes the connection.
func (s *session) closeConnection() {
	s.fail(net.ErrClosed)
	if s.connection != nil {
		s.stopWatching()
		s.connection.Close()
	}
}

// endReason describes how a connection ended. A server that closes a connection with unread bytes
// resets it; because that depends on timing, a reset is reported as eof.
func endReason(err error) string {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "eof"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errNoAnswer.Error()
	}
	return err.Error()
}

// outcome describes the error that replaced a reply.
func outcome(err error) string {
	if ended := endReason(err); ended == errNoAnswer.Error() {
		return ended
	}
	return "closed(" + endReason(err) + ")"
}
