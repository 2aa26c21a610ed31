package tcp

import (
	"fmt"
	"net"

	"github.com/interlock-sim/interlock/simzk"
)

// Up starts a member's process, with the data that it had. It listens at the address or, if that is
// empty, where it listened before.
func (s *Server) Up(server int, address string) error {
	err := s.change(server, func(m *member) error {
		if m.listener != nil { // The address may be its own.
			return fmt.Errorf("server %d runs already", m.id())
		}
		if address == "" {
			address = m.address
		}
		return nil
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

// UpOn is [Server.Up] with a listener that is open. The server closes it.
func (s *Server) UpOn(server int, listener net.Listener) error {
	err := s.change(server, func(m *member) error {
		switch {
		case s.closed:
			return net.ErrClosed
		case m.listener != nil:
			return fmt.Errorf("server %d runs already", m.id())
		}
		m.open(listener)
		s.cluster.StartServer(server)
		return nil
	})
	if err != nil {
		listener.Close()
	}
	return err
}

// Kill ends a member's process at once: its connections break, and nobody can connect to it until
// [Server.Up]. A member that does not run stays so.
func (s *Server) Kill(server int) error {
	return s.change(server, func(m *member) error {
		s.cluster.KillServer(server)
		return m.shut()
	})
}

// Wipe takes away the data of a member that does not run. All data is lost when no member has any,
// or when a leader is elected of members that have none.
func (s *Server) Wipe(server int) error {
	return s.change(server, func(m *member) error {
		if m.listener != nil {
			return fmt.Errorf("server %d runs; kill it first", m.id())
		}
		s.cluster.WipeServer(server)
		return nil
	})
}

// Cut cuts a member off from the others. Without a majority it serves nobody; it closes connections
// when it is spoken to.
func (s *Server) Cut(server int) error {
	return s.change(server, func(*member) error {
		s.cluster.CutServerOff(server)
		return nil
	})
}

// Heal connects a member with the others again.
func (s *Server) Heal(server int) error {
	return s.change(server, func(*member) error {
		s.cluster.HealServer(server)
		return nil
	})
}

// Expire ends a session as if its client had been silent for too long, and reports whether there
// was one of that id.
func (s *Server) Expire(session int64) bool {
	var found bool
	s.do(func() { found = s.cluster.Expire(session) })
	return found
}

// Sessions tells of every session, by id.
func (s *Server) Sessions() []simzk.SessionInfo {
	var list []simzk.SessionInfo
	s.do(func() { list = s.cluster.SessionList() })
	return list
}

// change changes something about a member.
func (s *Server) change(server int, how func(*member) error) (err error) {
	s.do(func() {
		if server < 0 || server >= len(s.members) {
			err = fmt.Errorf("there is no server %d of %d", server, len(s.members))
			return
		}
		err = how(s.members[server])
	})
	return err
}

// Index returns the index of the member with an id, and false if there is none.
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
