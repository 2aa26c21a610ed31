package conform

import (
	"bytes"
	"errors"
	"io"
	"syscall"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// unreadPings is the number of pings behind the bytes after which a server closes the connection.
// It does not read all of them.
const unreadPings = 4096

// ends tests how a connection ends that a server closes before it has read everything.
func (p *probe) ends() {
	wrong := wire.ConnectRequest{
		TimeoutMillis: 10000, SessionID: 0x123456, Password: make([]byte, 16), HasReadOnly: true,
	}
	for _, test := range []struct {
		what    string
		session bool
		sent    []byte
	}{
		{"closeSession", true, framed(func(dst []byte) []byte {
			return operation.AppendRequest(dst, &wire.Request{Op: wire.OpCloseSession, Xid: 1})
		})},
		{"type 55", true, framed(func(dst []byte) []byte {
			return append(dst, 0, 0, 0, 1, 0, 0, 0, 55)
		})},
		{"a negative length", true, []byte("\xff\xff\xff\xfb")},
		{"a negative length first", false, []byte("\xff\xff\xff\xfb")},
		{"a handshake of four bytes", false, []byte("\x00\x00\x00\x04abcd")},
		{"a handshake for an unknown session", false, framed(func(dst []byte) []byte {
			return wire.AppendConnectRequest(dst, &wrong)
		})},
	} {
		c := dial(p.host)
		if test.session {
			c = p.open()
		}
		c.write(append(test.sent, pings(unreadPings)...))
		answers := readAnswers(c)
		p.fact("%s before unread bytes -> %d answers and then %s", test.what, answers,
			segment(c.err))
		c.closeConnection()
	}
	c := dial(p.host)
	c.write(append([]byte("ruok"), pings(unreadPings)...))
	answer, err := io.ReadAll(c.reader)
	if err == nil {
		err = io.EOF
	}
	p.fact("ruok before unread bytes -> %s and then %s", answer, segment(err))
	c.closeConnection()
}

// framed returns a frame.
func framed(appendBody func([]byte) []byte) []byte {
	frame, at := wire.BeginFrame(nil)
	return wire.EndFrame(appendBody(frame), at)
}

// pings returns the frames of pings.
func pings(count int) []byte {
	ping := framed(func(dst []byte) []byte {
		return operation.AppendRequest(dst, &wire.Request{Op: wire.OpPing, Xid: wire.XidPing})
	})
	return bytes.Repeat(ping, count)
}

// readAnswers reads until the connection ends, and returns the number of messages other than
// answers to pings: how many pings a server answers depends on timing.
func readAnswers(c *session) int {
	answers := 0
	for {
		frame := c.frame()
		if c.err != nil {
			return answers
		}
		if xid, _, _, err := wire.ReplyHeader(frame); err != nil || xid != wire.XidPing {
			answers++
		}
	}
}

// segment returns the TCP segment that ended a connection. ZooKeeper may end it within an answer to
// a ping.
func segment(err error) string {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "FIN"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "RST"
	}
	return endReason(err)
}
