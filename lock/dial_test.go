package lock_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk/tcp"
)

// serve starts a simulated server, which grants session timeouts from 4 to 40 seconds.
func serve(t *testing.T) *tcp.Server {
	t.Helper()
	server, err := tcp.Start(tcp.Config{}, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return server
}

var quiet = lock.WithClientOption(zk.WithLogger(silent{}))

// The session has the timeout that the server grants, or the shorter one that was asked for.
func TestDialTimeout(t *testing.T) {
	addresses := map[string][]string{
		"simulated": serve(t).Addresses(),
		"real":      {startZooKeeper(t)},
	}
	for name, servers := range addresses {
		for _, tc := range []struct{ asked, want time.Duration }{
			{10 * time.Second, 10 * time.Second},
			{time.Hour, 40 * time.Second},
			{time.Second, time.Second},
		} {
			session, err := lock.Dial(t.Context(), servers, tc.asked, quiet)
			if err != nil {
				t.Fatal(err)
			}
			if got := session.Timeout(); got != tc.want {
				t.Errorf("%s: timeout %v for %v, want %v", name, got, tc.asked, tc.want)
			}
			if session.SessionID() == 0 {
				t.Errorf("%s: Dial has returned without a session", name)
			}
			session.Close()
		}
	}
}

// Close ends the leases and then the session, so that the next contender is granted the lock.
func TestClose(t *testing.T) {
	server := serve(t)
	var leases []*lock.Lease
	for range 2 {
		session, err := lock.Dial(t.Context(), server.Addresses(), 10*time.Second, quiet)
		if err != nil {
			t.Fatal(err)
		}
		mutex, err := lock.NewMutex(session, "/locks/billing")
		if err != nil {
			t.Fatal(err)
		}
		lease, err := mutex.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		leases = append(leases, lease)
		session.Close()
		session.Close()
		if err := lease.Err(); !errors.Is(err, lock.ErrLost) || !errors.Is(err, zk.ErrClosing) {
			t.Errorf("Err: %v, want ErrLost and zk.ErrClosing", err)
		}
		if _, err := mutex.Lock(t.Context()); !errors.Is(err, zk.ErrClosing) {
			t.Errorf("Lock: %v, want zk.ErrClosing", err)
		}
	}
	if leases[0].Token() >= leases[1].Token() {
		t.Errorf("tokens %d and %d do not rise", leases[0].Token(), leases[1].Token())
	}
}

// A stuckClient's channel of events stays open after Close. A connection of go-zookeeper/zk 1.0.4
// is like that if a request fails just when it is closed.
type stuckClient struct{ *zk.Conn }

func TestCloseOfStuckClient(t *testing.T) {
	conn, _, err := zk.Connect(serve(t).Addresses(), 10*time.Second, zk.WithLogger(silent{}))
	if err != nil {
		t.Fatal(err)
	}
	session := lock.NewSession(stuckClient{conn}, make(chan zk.Event), 10*time.Second)
	mutex, err := lock.NewMutex(session, "/locks/billing")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mutex.Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	session.Close()
	if _, err := mutex.Lock(t.Context()); !errors.Is(err, zk.ErrClosing) {
		t.Errorf("Lock: %v, want zk.ErrClosing", err)
	}
	if _, err := session.Context(t.Context()); !errors.Is(err, zk.ErrClosing) {
		t.Errorf("Context: %v, want zk.ErrClosing", err)
	}
}

// A closingObserver closes the session at the grant, before the caller has the lease.
type closingObserver struct{ session *lock.Session }

func (o closingObserver) Observe(e lock.Event) {
	if e.Kind == lock.Granted {
		o.session.Close()
	}
}

// unclosed is a client that nothing closes.
type unclosed struct{ *zk.Conn }

func (unclosed) Close() {}

// Close ends a lease that nobody has yet. The client stays open, so nothing else ends it.
func TestCloseAtTheGrant(t *testing.T) {
	conn, events, err := zk.Connect(serve(t).Addresses(), 10*time.Second, zk.WithLogger(silent{}))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	session := lock.NewSession(unclosed{conn}, events, 10*time.Second)
	mutex, err := lock.NewMutex(session, "/locks/billing",
		lock.WithObserver(closingObserver{session}))
	if err != nil {
		t.Fatal(err)
	}
	lease, err := mutex.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Err(); !errors.Is(err, lock.ErrLost) || !errors.Is(err, zk.ErrClosing) {
		t.Errorf("Err: %v, want ErrLost and zk.ErrClosing", err)
	}
}

// A shortConn makes the server grant a session timeout of four seconds.
type shortConn struct {
	net.Conn
	read int
}

func (c *shortConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	var timeout [4]byte
	binary.BigEndian.PutUint32(timeout[:], 4000)
	for i := range n {
		if at := c.read + i - 8; 0 <= at && at < len(timeout) {
			p[i] = timeout[at]
		}
	}
	c.read += n
	return n, err
}

// If a server shortens the session, its leases end, because ZooKeeper may grant the locks to others
// before they would.
func TestSessionShortened(t *testing.T) {
	server := serve(t)
	var short atomic.Bool
	session, err := lock.Dial(t.Context(), server.Addresses(), 10*time.Second, quiet,
		lock.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
			conn, err := net.DialTimeout(network, address, timeout)
			if err != nil || !short.Load() {
				return conn, err
			}
			return &shortConn{Conn: conn}, nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	mutex, err := lock.NewMutex(session, "/locks/billing")
	if err != nil {
		t.Fatal(err)
	}
	lease, err := mutex.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	short.Store(true)
	if err := errors.Join(server.Kill(0), server.Up(0, "")); err != nil {
		t.Fatal(err)
	}
	<-lease.Done()
	if err := lease.Err(); !errors.Is(err, lock.ErrLost) || !errors.Is(err, lock.ErrSessionLost) ||
		!strings.Contains(err.Error(), "from 10s to 4s") {
		t.Errorf("Err: %v, want a session that was shortened", err)
	}
}

// If no server answers before the context ends, Dial closes the client.
func TestDialFails(t *testing.T) {
	reason := errors.New("too slow")
	ctx, cancel := context.WithCancelCause(t.Context())
	var closed chan struct{}
	dialer := func(_, _ string, _ time.Duration) (net.Conn, error) {
		near, far := net.Pipe() // Nobody answers.
		closed = make(chan struct{})
		go func() {
			buffer := make([]byte, 1<<10)
			far.Read(buffer) // the request for a session
			cancel(reason)
			for _, err := far.Read(buffer); err == nil; _, err = far.Read(buffer) {
			}
			close(closed)
		}()
		return near, nil
	}
	_, err := lock.Dial(ctx, []string{"127.0.0.1:2181"}, 10*time.Second, quiet,
		lock.WithDialer(dialer))
	if !errors.Is(err, reason) {
		t.Errorf("Dial: %v, want the context's cause", err)
	}
	<-closed
	for _, tc := range []struct {
		servers []string
		timeout time.Duration
	}{{nil, time.Second}, {[]string{"127.0.0.1:2181"}, 0}} {
		if _, err := lock.Dial(t.Context(), tc.servers, tc.timeout, quiet); err == nil {
			t.Errorf("Dial(%q, %v) does not fail", tc.servers, tc.timeout)
		}
	}
}
