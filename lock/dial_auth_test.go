package lock_test

import (
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
)

// A cutter dials connections that a test can cut.
type cutter struct {
	mu       sync.Mutex
	conns    []net.Conn
	failAuth int // number of connections that fail when the client sends its identity
}

func (c *cutter) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout(network, address, timeout)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failAuth > 0 {
		c.failAuth--
		conn = &authlessConn{Conn: conn}
	}
	c.conns = append(c.conns, conn)
	return conn, nil
}

// cut cuts the last connection, and reports how many there were.
func (c *cutter) cut() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conns[len(c.conns)-1].Close()
	return len(c.conns)
}

// An authlessConn fails when the client sends an identity.
type authlessConn struct{ net.Conn }

func (c *authlessConn) Write(p []byte) (int, error) {
	if opAuth := []byte{0, 0, 0, 100}; len(p) >= 12 && slices.Equal(p[8:12], opAuth) {
		c.Close()
	}
	return c.Conn.Write(p)
}

// A lock whose nodes only an identity may read and change is locked with it, also over connections
// that fail, and not without it.
func TestDialWithAuth(t *testing.T) {
	for name, start := range map[string]func() []string{
		"simulated": func() []string { return serve(t).Addresses() },
		"real":      func() []string { return []string{startZooKeeper(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			servers := start()
			connections := &cutter{failAuth: 1}
			session, err := lock.Dial(t.Context(), servers, 10*time.Second, quiet,
				lock.WithDialer(connections.dial), lock.WithAuth("digest", []byte("billing:secret")))
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			private := lock.WithACL(zk.AuthACL(zk.PermAll))
			mutex, err := lock.NewMutex(session, "/private", private)
			if err != nil {
				t.Fatal(err)
			}
			lease, err := mutex.Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if before := connections.cut(); before != 2 {
				t.Errorf("%d connections before the lock is held, want 2", before)
			}
			if err := lease.Unlock(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, options := range [][]lock.DialOption{
				{quiet}, {quiet, lock.WithAuth("digest", []byte("billing:guess"))},
			} {
				other, err := lock.Dial(t.Context(), servers, 10*time.Second, options...)
				if err != nil {
					t.Fatal(err)
				}
				defer other.Close()
				mutex, err := lock.NewMutex(other, "/private")
				if err != nil {
					t.Fatal(err)
				}
				if _, err := mutex.Lock(t.Context()); !errors.Is(err, zk.ErrNoAuth) {
					t.Errorf("Lock without the identity: %v, want zk.ErrNoAuth", err)
				}
			}
		})
	}
}

// An identity that the server refuses ends Dial.
func TestDialWithAuthRefused(t *testing.T) {
	_, err := lock.Dial(t.Context(), serve(t).Addresses(), 10*time.Second, quiet,
		lock.WithAuth("nosuch", []byte("x")))
	if !errors.Is(err, zk.ErrAuthFailed) {
		t.Errorf("Dial: %v, want zk.ErrAuthFailed", err)
	}
}
