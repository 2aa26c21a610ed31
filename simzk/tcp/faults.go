package tcp

import (
	"fmt"
	"net"

	"github.com/interlock-sim/interlock/simzk"
)

// Up starts a member with its previous data. If the address is empty, the member listens at its
// previous address, or at the address of the reconfig that added it.
func (s *Server) Up(server int, address string) error {
	err := s.change(server, func(m *member) (err error) {
		if m.listener != nil { // Listening would fail first: the address may be its own.
			return fmt.Errorf("server %d runs already", m.id())
		}
		if address == "" {
			address, err = m.knownAddress()
		}
		return err
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	return s.UpOn(server, listener)
}

// UpOn is [Server.Up] with an open listener. The server closes it.
func (s *Server) UpOn(server int, listener net.Listener) error {
	err := s.change(server, func(m *member) error {
		switch {
		case s.closed:
			return net.ErrClosed
		case m.listener != nil:
			return fmt.Errorf("server %d runs already", m.id())
		}
		m.listen(listener)
		s.cluster.StartServer(server)
		return nil
	})
	if err != nil {
		listener.Close()
	}
	return err
}

// Kill stops a member abruptly: its connections break, and new ones are refused until [Server.Up].
// It has no effect on a stopped member.
func (s *Server) Kill(server int) error {
	return s.change(server, func(m *member) error {
		s.cluster.KillServer(server)
		m.endPause()
		return m.close()
	})
}

// Wipe deletes the data of a stopped member. The ensemble's data are lost if no member has any, or
// if members without data elect a leader.
func (s *Server) Wipe(server int) error {
	return s.change(server, func(m *member) error {
		if m.listener != nil {
			return fmt.Errorf("server %d runs; kill it first", m.id())
		}
		s.cluster.WipeServer(server)
		return nil
	})
}

// Cut partitions a member from the others. Without a majority it serves no clients, and closes a
// connection when the client sends something.
func (s *Server) Cut(server int) error {
	return s.change(server, func(m *member) error {
		m.network.cut = true
		s.cluster.CutServerOff(server)
		return nil
	})
}

// Heal reconnects a member with the others.
func (s *Server) Heal(server int) error {
	return s.change(server, func(m *member) error {
		m.network.cut = false
		if !m.network.paused {
			s.cluster.HealServer(server)
		}
		return nil
	})
}

// CutLink drops the messages from one member to another, until [Server.HealLink]. As in reality, a
// follower notices after five ticks that it does not hear its leader, and a leader after six that
// it does not hear a majority. It needs members with logs of their own; see [Config].
func (s *Server) CutLink(from, to int) error {
	return s.changeLink(from, to, s.cluster.PartitionLink)
}

// HealLink ends [Server.CutLink].
func (s *Server) HealLink(from, to int) error {
	return s.changeLink(from, to, s.cluster.HealLink)
}

func (s *Server) changeLink(from, to int, change func(from, to int)) error {
	return s.change(from, func(*member) error {
		switch {
		case to < 0 || to >= len(s.members):
			return fmt.Errorf("there is no server %d of %d", to, len(s.members))
		case from == to:
			return fmt.Errorf("server %d has no link to itself", s.members[from].id())
		}
		if err := s.needsReplicas(); err != nil {
			return err
		}
		change(from, to)
		return nil
	})
}

// SetClockRate makes the clock of a member run at a percentage of the true rate. A leader times
// sessions by its clock, so that they end early or late.
func (s *Server) SetClockRate(server, percent int) error {
	if percent < clockRateMin || percent > clockRateMax {
		return fmt.Errorf("a clock rate must be from %d to %d percent, not %d", clockRateMin,
			clockRateMax, percent)
	}
	return s.change(server, func(*member) error {
		s.cluster.SetClockRate(server, percent)
		return nil
	})
}

// The bounds of clock rates, in percent.
const (
	clockRateMin = 1
	clockRateMax = 1000
)

// Expire expires a session before its time, as [Server.ExpireOwner] does. It reports whether the
// session existed.
func (s *Server) Expire(session int64) bool {
	var found bool
	s.do(func() { found = s.cluster.Expire(session) })
	return found
}

// ExpireOwner expires the session that owns the ephemeral node at the path, and reports whether
// there is one. A real server never expires a session this early: the client learns of it only when
// it has reconnected, a second later or so. Locks that rely on the session's timeout have two
// holders meanwhile. To let a session time out as it does in reality, use [Server.StallRequests].
func (s *Server) ExpireOwner(path string) bool {
	var found bool
	s.do(func() {
		stat, ok := s.cluster.Tree().Stat(path)
		found = ok && s.cluster.Expire(stat.EphemeralOwner)
	})
	return found
}

// Sessions returns all sessions, sorted by id.
func (s *Server) Sessions() []simzk.SessionInfo {
	var list []simzk.SessionInfo
	s.do(func() { list = s.cluster.SessionList() })
	return list
}

// change applies a function to a member.
func (s *Server) change(server int, f func(*member) error) (err error) {
	s.do(func() {
		if server < 0 || server >= len(s.members) {
			err = fmt.Errorf("there is no server %d of %d", server, len(s.members))
			return
		}
		err = f(s.members[server])
	})
	return err
}

// Index returns the index of the member with the id, and false if there is none.
func (s *Server) Index(id int) (int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, m := range s.members {
		if m.id() == id {
			return i, true
		}
	}
	return 0, false
}
