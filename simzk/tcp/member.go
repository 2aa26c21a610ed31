package tcp

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"
)

// A member is one server of the ensemble. The lock of its Server guards it.
type member struct {
	server      *Server
	index       int
	address     string       // current or last address
	listener    net.Listener // nil while the member is down
	connections map[*connection]struct{}
	statistics  statistics
	network     network
	replication replication
	started     time.Time
	traceMask   int64
}

func newMember(s *Server, index int) *member {
	return &member{server: s, index: index, connections: make(map[*connection]struct{})}
}

// id returns the member's number in the configuration of the ensemble.
func (m *member) id() int { return m.server.cluster.ServerID(m.index) }

// knownAddress returns the member's last address or, before its first start, that of the ensemble's
// configuration. The caller holds the lock.
func (m *member) knownAddress() (string, error) {
	if m.address != "" {
		return m.address, nil
	}
	address := m.server.cluster.ClientAddress(m.index)
	if address == "" {
		return "", fmt.Errorf("server %d has no address for clients", m.id())
	}
	return loopbackAddress(address)
}

// listen starts to accept connections. The caller holds the lock.
func (m *member) listen(listener net.Listener) {
	m.listener, m.address = listener, listener.Addr().String()
	m.started, m.statistics, m.traceMask = time.Now(), statistics{}, initialTraceMask
	m.server.goroutines.Go(func() { m.accept(listener) })
}

// close stops the member: it closes the listener and aborts all connections. The caller holds the
// lock.
func (m *member) close() error {
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

// The backoff of accept after an error, which is usually too many open files.
const (
	acceptBackoffMin = 5 * time.Millisecond
	acceptBackoffMax = time.Second
)

func (m *member) accept(listener net.Listener) {
	backoff := acceptBackoffMin
	for {
		conn, err := listener.Accept()
		switch {
		case err == nil:
			backoff = acceptBackoffMin
			m.serve(conn)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			select {
			case <-m.server.stop:
				return
			case <-time.After(backoff):
			}
			backoff = min(2*backoff, acceptBackoffMax)
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
	s.lastConnection++
	c := newConnection(m, conn, s.lastConnection)
	m.connections[c] = struct{}{}
	c.outbox.set(&m.network)
	s.goroutines.Go(c.run)
}

// sortedConnections returns the member's connections in order of acceptance. The caller holds the
// lock.
func (m *member) sortedConnections() []*connection {
	list := make([]*connection, 0, len(m.connections))
	for c := range m.connections {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *connection) int { return cmp.Compare(a.number, b.number) })
	return list
}

// serving reports whether the member serves clients. The caller holds the lock.
func (m *member) serving() bool { return m.listener != nil && m.server.cluster.Serving(m.index) }
