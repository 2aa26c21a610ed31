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
	paused          bool // the member's process does nothing
	cut             bool // from the other members
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

// StallDisk makes the member's disk carry out no more writes, until [Server.Resume]. It needs
// members with logs of their own; see [Config] and [simzk.Cluster.StallDisk].
func (s *Server) StallDisk(server int) error {
	return s.change(server, func(*member) error {
		err := s.needsReplicas()
		if err == nil {
			s.cluster.StallDisk(server)
		}
		return err
	})
}

// Pause stops the member's process, as SIGSTOP does, until [Server.Resume]. Its clients and the
// other members can connect to it, and get no answer. The others elect another leader if it was
// theirs. It needs members with logs of their own, except in a standalone server; see [Config].
func (s *Server) Pause(server int) error {
	return s.change(server, func(m *member) error {
		switch {
		case m.listener == nil:
			return fmt.Errorf("server %d does not run", m.id())
		case !s.cluster.Standalone():
			if err := s.needsReplicas(); err != nil {
				return err
			}
			s.cluster.PauseServer(server)
		}
		m.network.paused = true
		m.networkChanged()
		return nil
	})
}

// Resume ends [Server.Pause] and the stalls of the member, and delivers what the member and its
// clients have sent meanwhile. After a pause, the member first answers its clients from its old
// state, even a sync if it leads as far as it knows. A leader that was deposed notices that after
// half a tick, a follower that is behind after some milliseconds. See [simzk.Cluster.ResumeServer].
func (s *Server) Resume(server int) error {
	return s.change(server, func(m *member) error {
		m.network.repliesStalled, m.network.requestsStalled = false, false
		s.cluster.ResumeDisk(server)
		m.endPause()
		m.networkChanged()
		return nil
	})
}

// endPause ends a pause of the member. The caller holds the lock.
func (m *member) endPause() {
	switch cluster := m.server.cluster; {
	case !m.network.paused || m.network.cut:
	case cluster.ServerPaused(m.index):
		cluster.ResumeServer(m.index)
	default: // It is standalone, or was cut off meanwhile.
		cluster.HealServer(m.index)
	}
	m.network.paused = false
}

// LoseReply makes the member handle the next request of a session, except a ping, and then close
// the connection without a reply.
func (s *Server) LoseReply(server int) error {
	return s.setNetwork(server, func(n *network) { n.repliesToLose++ })
}

func (s *Server) setNetwork(server int, set func(*network)) error {
	return s.change(server, func(m *member) error {
		set(&m.network)
		m.networkChanged()
		return nil
	})
}

// networkChanged applies the network to the member's connections. The caller holds the lock.
func (m *member) networkChanged() {
	for c := range m.connections {
		c.outbox.set(&m.network)
	}
	m.server.unblocked.Broadcast()
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
