package tcp

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A network is what a member's clients suffer on their connections to it.
type network struct {
	delay           time.Duration // of messages to clients
	repliesStalled  bool
	requestsStalled bool
	repliesToLose   int
}

// Delay delays every message of the member to a client from now on.
func (s *Server) Delay(server int, delay time.Duration) error {
	if delay < 0 {
		return fmt.Errorf("a delay must not be negative, as %v is", delay)
	}
	return s.setNetwork(server, func(n *network) { n.delay = delay })
}

// StallReplies holds back every message of the member to its clients, and StallRequests every
// message of its clients to the member, until [Server.Resume]. Connections stay open meanwhile, and
// sessions expire if the member gets no pings.
func (s *Server) StallReplies(server int) error {
	return s.setNetwork(server, func(n *network) { n.repliesStalled = true })
}

// StallRequests is described at [Server.StallReplies].
func (s *Server) StallRequests(server int) error {
	return s.setNetwork(server, func(n *network) { n.requestsStalled = true })
}

// Resume delivers what the member and its clients have sent meanwhile.
func (s *Server) Resume(server int) error {
	return s.setNetwork(server, func(n *network) {
		n.repliesStalled, n.requestsStalled = false, false
	})
}

// LoseReply makes the member handle the next request of a session, except a ping, and then close
// the connection without a reply.
func (s *Server) LoseReply(server int) error {
	return s.setNetwork(server, func(n *network) { n.repliesToLose++ })
}

func (s *Server) setNetwork(server int, set func(*network)) error {
	return s.change(server, func(m *member) error {
		set(&m.network)
		for c := range m.connections {
			c.outbox.set(m.network.delay, m.network.repliesStalled)
		}
		s.unblocked.Broadcast()
		return nil
	})
}

// losesReply reports whether the network loses the reply to a request. The caller holds the lock.
func (m *member) losesReply(l *simzk.Link, frame []byte) bool {
	if m.network.repliesToLose == 0 || !l.Attached() || isPing(frame) {
		return false
	}
	m.network.repliesToLose--
	return true
}

// isPing reports whether a frame is a ping. The type of a request follows its number.
func isPing(frame []byte) bool {
	return len(frame) >= 8 && wire.Op(binary.BigEndian.Uint32(frame[4:])) == wire.OpPing
}
