package tcp

import (
	"cmp"
	"errors"
	"net"
	"slices"
	"time"
)

// A member is one server of the ensemble, as its clients see it. The server's lock guards it.
type member struct {
	server      *Server
	index       int
	address     string       // where it listens or has last listened
	listener    net.Listener // nil while the member's process does not run
	connections map[*connection]struct{}
	statistics  statistics
	started     time.Time
}

func newMember(s *Server, index int) *member {
	return &member{server: s, index: index, connections: make(map[*connection]struct{})}
}

// id returns the member's number in the configuration of the ensemble.
func (m *member) id() int { return m.server.cluster.ServerID(m.index) }

// open begins to accept connections. The caller holds the lock.
func (m *member) open(listener net.Listener) {
	m.listener, m.address = listener, listener.Addr().String()
	m.started, m.statistics = time.Now(), statistics{}
	m.server.running.Go(func() { m.accept(listener) })
}

// shut ends the member's process: it does not listen any more, and its connections break. The
// caller holds the lock.
func (m *member) shut() error {
	if m.listener == nil {
		return nil
	}
	err := m.listener.Close()
	m.listener = nil
	for c := range m.connections {
		c.abort()
	}
	clear(m.connections)
	return err
}

// How long accept waits after an error, which is most often that there are too many open files.
const (
	acceptPauseMin = 5 * time.Millisecond
	acceptPauseMax = time.Second
)

func (m *member) accept(listener net.Listener) {
	pause := acceptPauseMin
	for {
		conn, err := listener.Accept()
		switch {
		case err == nil:
			pause = acceptPauseMin
			m.serve(conn)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			select {
			case <-m.server.stop:
				return
			case <-time.After(pause):
			}
			pause = min(2*pause, acceptPauseMax)
		}
	}
}

// serve starts to serve a connection.
func (m *member) serve(conn net.Conn) {
	s := m.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.listener == nil {
		conn.Close()
		return
	}
	s.last++
	c := newConnection(m, conn, s.last)
	m.connections[c] = struct{}{}
	s.running.Go(c.run)
}

// sorted returns the member's connections in the order in which they were made. The caller holds
// the lock.
func (m *member) sorted() []*connection {
	list := make([]*connection, 0, len(m.connections))
	for c := range m.connections {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *connection) int { return cmp.Compare(a.number, b.number) })
	return list
}

// serving tells whether the member answers clients. The caller holds the lock.
func (m *member) serving() bool { return m.listener != nil && m.server.cluster.Serving(m.index) }
