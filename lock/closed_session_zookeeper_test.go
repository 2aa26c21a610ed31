package lock_test

import (
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A tap reads the traffic of a client, to learn the password of its session and when its first read
// with a watch is answered.
type tap struct {
	mu       sync.Mutex
	dials    int
	again    func()        // called when the client dials a third time
	asked    bool          // a read with a watch was sent
	watched  chan struct{} // closed once data have arrived after it
	password []byte
}

// tapped is a connection with a tap.
type tapped struct {
	net.Conn
	tap *tap
	in  []byte // received so far, until the handshake is over
}

func (p *tap) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	if p.dials++; p.dials == 3 {
		p.again()
	}
	conn, err := net.DialTimeout(network, address, timeout)
	return &tapped{Conn: conn, tap: p}, err
}

func (c *tapped) Write(b []byte) (int, error) {
	const header = 12 // the length, the request's number and its operation
	if len(b) > header && wire.Op(binary.BigEndian.Uint32(b[8:])) == wire.OpGetData &&
		b[len(b)-1] == 1 {
		c.tap.mu.Lock()
		c.tap.asked = true
		c.tap.mu.Unlock()
	}
	return c.Conn.Write(b)
}

func (c *tapped) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.tap.mu.Lock()
	defer c.tap.mu.Unlock()
	if c.tap.asked && c.tap.watched != nil && n > 0 {
		close(c.tap.watched)
		c.tap.watched = nil
	}
	if c.tap.password == nil && n > 0 {
		c.in = append(c.in, b[:n]...)
		if len(c.in) > 4 && len(c.in) >= 4+int(binary.BigEndian.Uint32(c.in)) {
			var response wire.ConnectResponse
			if err := wire.DecodeConnectResponse(c.in[4:], &response); err == nil {
				c.tap.password = response.Password
			}
		}
	}
	return n, err
}

// closeSessionAt takes a session over on a connection of its own and closes it.
func closeSessionAt(t *testing.T, address string, session int64, password []byte) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, frame := range [][]byte{
		wire.AppendConnectRequest(nil, &wire.ConnectRequest{
			SessionID: session, Password: password,
			TimeoutMillis: 10_000,
		}),
		operation.AppendRequest(nil, &wire.Request{Xid: 1, Op: wire.OpCloseSession}),
	} {
		if _, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))),
			frame...)); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(make([]byte, 1024)); err != nil {
			t.Fatal(err)
		}
	}
}

// On a real server, another connection takes the session over, with its id and password, and closes
// it. The client pauses for a second after it has learned of it. By the time it reconnects the
// lease has ended, because of that event and not because of the clock.
func TestSessionClosedByOthersOnZooKeeper(t *testing.T) {
	address := startZooKeeper(t)
	const timeout = 12 * time.Second
	for _, name := range []string{"dialed", "of a client"} {
		t.Run(name, func(t *testing.T) {
			watched := make(chan struct{})
			held := make(chan (<-chan struct{}), 1) // receives the channel of the lease
			// receives whether the lease is valid when the client reconnects, after it has learned
			// that the session is over
			stands := make(chan bool, 1)
			tap := &tap{watched: watched, again: func() {
				select {
				case <-<-held:
					stands <- false
				default:
					stands <- true
				}
			}}
			var session *lock.Session
			if name == "dialed" {
				session = openSession(t, address, timeout, tap.dial)
			} else {
				conn, events, err := zk.Connect([]string{address}, timeout, zk.WithLogger(silent{}),
					zk.WithDialer(tap.dial))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(conn.Close)
				session = lock.NewSession(conn, events, timeout)
			}
			lease := must(must(lock.NewMutex(session, "/lock")).Lock(background))
			done := lease.Done()
			held <- done
			<-watched
			closeSessionAt(t, address, session.SessionID(), tap.password)
			if <-stands {
				t.Error("the lease is valid when the client reconnects")
			}
			if err := lease.Err(); !errors.Is(err, lock.ErrSessionLost) {
				t.Errorf("the lease has ended with %v, want a lost session", err)
			}
		})
	}
}
