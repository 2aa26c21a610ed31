package conform

import (
	"bytes"
	"errors"
	"os"
	"time"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// frames tests lengths of frames: the maximum and invalid ones.
func (p *probe) frames() {
	root := p.root + "f"
	if r := p.open().call(createLong(root+"1", wire.MaxFrame-200)); r.err == nil {
		p.fact("frame len <= max -> %v", r)
	} else {
		p.fact("frame len > jute.maxbuffer -> closed")
	}
	if r := p.open().call(createLong(root+"2", wire.MaxFrame+1)); r.err == nil {
		p.fact("frame len > max -> %v", r)
	} else {
		p.fact("frame len > jute.maxbuffer -> closed")
	}
	path := root + "x"
	empty := len(operation.AppendRequest(nil, createLong(path, 0)))
	for _, over := range []int{-1, 0, 1} {
		c := p.open()
		if r := c.call(createLong(path, wire.MaxFrame-empty+over)); r.err == nil {
			p.fact("frame exactly max%+d -> %v", over, r)
		} else {
			p.fact("frame exactly max%+d -> closed", over)
		}
		c.call(deleteNode(path))
	}
	p.fact("negative length first frame: %s", p.sendRaw(dial(p.host), "\xff\xff\xff\xfb"))
	p.fact("garbage connect request: %s", p.sendRaw(dial(p.host), "\x00\x00\x00\x04abcd"))
	p.fact("4lw on an established session: %s", p.sendRaw(p.open(), "ruok"))
}

// createLong returns a request that creates a node with length bytes of data.
func createLong(path string, length int) *wire.Request {
	r := create(path)
	r.Data = bytes.Repeat([]byte("z"), length)
	return r
}

// sendRaw sends bytes that are not a frame and returns the response.
func (p *probe) sendRaw(s *session, text string) string {
	s.write([]byte(text))
	if s.err != nil {
		return endReason(s.err)
	}
	defer s.closeConnection()
	s.fail(s.connection.SetReadDeadline(time.Now().Add(3 * time.Second)))
	answer := make([]byte, 10)
	n, err := s.connection.Read(answer)
	switch {
	case err == nil, endReason(err) == "eof":
		return pyBytes(answer[:n])
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "TimeoutError"
	}
	return err.Error()
}
