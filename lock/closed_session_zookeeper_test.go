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
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A tap listens to the connections of a client: for the password of its session, and for the answer
// to its first read with a watch.
type tap struct {
	mu       sync.Mutex
	asked    bool          // for a watch
	watched  chan struct{} // closed once something has come after that
	password []byte
}

// tapped is a connection that a tap listens to.
type tapped struct {
	net.Conn
	tap *tap
	in  []byte // what has come until the handshake is over
}

func (p *tap) dial(network, address string, timeout time.Duration) (net.Conn, error) {
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

// closeSessionAt takes a session over, on a connection of its own, and closes it.
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
		wire.AppendRequest(nil, &wire.Request{Xid: 1, Op: wire.OpCloseSession}),
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

// On a real server: another connection takes the session over, with its id and password, and closes
// it. The client pauses for a second after it was told so, and by the time it connects again the
// lease has long ended, by that word and not by the clock.
func TestSessionClosedByOthersOnZooKeeper(t *testing.T) {
	address := startZooKeeper(t)
	const timeout = 12 * time.Second
	for _, name := range []string{"client", "session"} {
		t.Run(name, func(t *testing.T) {
			watched := make(chan struct{})
			tap := &tap{watched: watched}
			held := make(chan (<-chan struct{}), 1) // receives the channel of the lease
			// receives whether the lease stands when the client connects again
			stands := make(chan bool, 1)
			expired := false
			session := must(lock.OpenSession(timeout, func(callback zk.EventCallback) (*zk.Conn,
				<-chan zk.Event, error,
			) {
				return zk.Connect([]string{address}, timeout, zk.WithLogger(silent{}),
					zk.WithDialer(tap.dial),
					zk.WithEventCallback(func(e zk.Event) {
						callback(e)
						switch {
						case e.State == zk.StateExpired:
							expired = true
						case e.State == zk.StateConnected && expired:
							select {
							case <-<-held:
								stands <- false
							default:
								stands <- true
							}
						}
					}))
			}))
			conn := session.Client.(*zk.Conn)
			t.Cleanup(conn.Close)
			var client lock.Client = conn
			if name == "session" {
				client = session
			}
			lease := must(must(lock.NewMutex(client, "/"+name, timeout)).Lock(background))
			done := lease.Done()
			held <- done
			<-watched
			closeSessionAt(t, address, conn.SessionID(), tap.password)
			if <-stands {
				t.Error("the lease stands when the client connects again")
			}
			if err := lease.Err(); !errors.Is(err, lock.ErrSessionLost) {
				t.Errorf("the lease has ended with %v, want a lost session", err)
			}
		})
	}
}
