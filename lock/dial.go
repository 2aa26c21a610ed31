package lock

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// A DialOption configures [Dial].
type DialOption func(*dialing)

// WithDialer sets how connections to the servers are opened, for TLS say. The default is
// net.DialTimeout.
func WithDialer(dialer zk.Dialer) DialOption { return func(d *dialing) { d.dialer = dialer } }

// WithClientOption adds an option of zk.Connect, such as zk.WithLogger. [WithDialer] replaces
// zk.WithDialer, and [Session.Events] replaces zk.WithEventCallback.
func WithClientOption(option func(*zk.Conn)) DialOption {
	return func(d *dialing) { d.client = append(d.client, option) }
}

// WithAuth proves an identity to each server before any other request, by the scheme "digest" with
// "user:password", say. Dial fails with zk.ErrAuthFailed if the server refuses it.
func WithAuth(scheme string, credentials []byte) DialOption {
	return func(d *dialing) { d.identities = append(d.identities, identity{scheme, credentials}) }
}

// Dial connects a client to an ensemble and returns its session once ZooKeeper has opened it. The
// session lasts until [Session.Close], across lost connections; after an expiry the client opens
// another.
//
// Servers bound the timeout of a session, by 2 and 20 ticks unless they are configured otherwise.
// If they grant less than was asked for, [Session.Timeout] is what they have granted. If a server
// grants even less later, all leases end, and the client looks for another server. Configure all
// servers alike: a server can shorten a session by an answer that never arrives.
//
// If the context ends first, Dial closes the client and returns an error that wraps the context's
// cause.
func Dial(ctx context.Context, servers []string, timeout time.Duration, options ...DialOption) (
	*Session, error,
) {
	if timeout <= 0 {
		return nil, fmt.Errorf("lock: session timeout %v must be positive", timeout)
	}
	d := &dialing{asked: timeout, dialer: net.DialTimeout, opened: make(chan struct{})}
	for _, option := range options {
		option(d)
	}
	session := newSession(timeout)
	conn, events, err := zk.Connect(servers, timeout, d.configure, zk.WithDialer(d.dial),
		zk.WithEventCallback(func(e zk.Event) {
			session.handle(e, time.Now())
			d.handle(e)
		}))
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	session.attach(conn)
	go session.awaitEnd(events)
	select {
	case <-d.opened:
	case <-ctx.Done():
	}
	select {
	case <-d.opened: // It takes precedence if both are ready.
	default:
		d.abort()
		session.Close()
		return nil, fmt.Errorf("lock: no session with %v: %w", servers, context.Cause(ctx))
	}
	d.attach(session)
	if err := d.authenticate(ctx, conn); err != nil {
		session.Close()
		return nil, fmt.Errorf("lock: not authenticated: %w", err)
	}
	return session, nil
}

// An identity is an argument of zk.Conn.AddAuth.
type identity struct {
	scheme      string
	credentials []byte
}

// dialing is the state of a client that [Dial] has made.
type dialing struct {
	asked  time.Duration
	dialer zk.Dialer
	client []func(*zk.Conn)
	opened chan struct{} // closed once there is a session

	identities []identity // see [WithAuth]

	mu      sync.Mutex
	granted time.Duration // for the first session; 0 before
	isOpen  bool          // opened is closed
	conn    net.Conn      // the last one
	aborted bool
	session *Session // nil until its timeout is known
}

// configure applies the options for the client.
func (d *dialing) configure(conn *zk.Conn) {
	for _, option := range d.client {
		option(conn)
	}
}

// handle closes opened at the first session.
func (d *dialing) handle(e zk.Event) {
	if e.Type != zk.EventSession || e.State != zk.StateHasSession {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.isOpen {
		d.isOpen = true
		close(d.opened)
	}
}

// attach sets the timeout of the session.
func (d *dialing) attach(s *Session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.session = s
	s.timeout = min(d.asked, d.granted)
	s.proof.setTimeout(d.granted) // The client pings by it, even if it has asked for less.
}

func (d *dialing) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	conn, err := d.dialer(network, address, timeout)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.aborted {
		conn.Close()
		return nil, net.ErrClosed
	}
	d.conn = conn
	return &handshakeConn{Conn: conn, grant: d.grant}, nil
}

// authenticate proves the identities. The client proves them again on each connection that it opens
// later. It does not on one that it opens between the answer and its return from AddAuth.
func (d *dialing) authenticate(ctx context.Context, client *zk.Conn) error {
	for _, i := range d.identities {
		for proved := false; !proved; {
			before := d.lastConn()
			_, err := await(ctx, func() (struct{}, error) {
				return struct{}{}, client.AddAuth(i.scheme, i.credentials)
			})
			proved = err == nil && d.lastConn() == before
			if ctx.Err() != nil || refused(err) {
				return err
			}
			if err != nil {
				select {
				case <-time.After(retryDelay):
				case <-ctx.Done():
				}
			}
		}
	}
	return nil
}

func (d *dialing) lastConn() net.Conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.conn
}

// abort closes the connection. The client itself would wait for a session on it for several
// timeouts, even when it is closed.
func (d *dialing) abort() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.aborted = true
	if d.conn != nil {
		d.conn.Close()
	}
}

// grant records the timeout that a server grants. If it is shorter than that of the session, the
// leases end, and the connection is refused.
func (d *dialing) grant(timeout time.Duration) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.session == nil {
		d.granted = timeout
		return nil
	}
	if timeout >= d.session.timeout {
		d.session.proof.setTimeout(timeout)
		return nil
	}
	err := fmt.Errorf("%w: a server has shortened its timeout from %v to %v", ErrSessionLost,
		d.session.timeout, timeout)
	d.session.shorten(err)
	return err
}

// A handshakeConn reads the timeout from the first message of a server, the ConnectResponse of
// ZooKeeper's protocol (zookeeper.jute), since go-zookeeper/zk does not report it.
type handshakeConn struct {
	net.Conn
	grant func(time.Duration) error
	read  []byte // of the message so far, up to the timeout
}

// The message begins with its length, the version of the protocol, and the timeout in milliseconds.
const timeoutEnd = 12

var errNegativeTimeout = errors.New("lock: the server grants a negative session timeout")

func (c *handshakeConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if len(c.read) == timeoutEnd || n == 0 {
		return n, err
	}
	c.read = append(c.read, p[:min(n, timeoutEnd-len(c.read))]...)
	if len(c.read) < timeoutEnd {
		return n, err
	}
	milliseconds := int32(binary.BigEndian.Uint32(c.read[timeoutEnd-4:]))
	switch {
	case milliseconds < 0:
		return 0, errNegativeTimeout
	case milliseconds == 0: // The session that the client asked for has expired.
		return n, err
	}
	if err := c.grant(time.Duration(milliseconds) * time.Millisecond); err != nil {
		return 0, err
	}
	return n, err
}
