package simzk

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A Conn is a modelled client: it has the methods of *zk.Conn and does what go-zookeeper/zk v1.0.4 does, without
// sockets or goroutines of its own. These methods may be called by any goroutine of the client's process; they block
// until the cluster's caller has let the request through. A goroutine that calls one after its process has crashed
// ends there, by [runtime.Goexit].
type Conn struct {
	*Link
	link Link // to which the pointer above points

	sessionID atomic.Int64
	connState atomic.Int32
	closed    atomic.Bool

	fresh atomic.Bool // something was submitted since the last collection

	mu        sync.Mutex
	submitted []*call         // by the process, not yet collected
	idle      []chan struct{} // on which nobody waits for an answer any more
	events    chan zk.Event   // nil until somebody asks for it
	tornDown  bool

	// All below is for the cluster's caller alone.

	phase    phase
	host     int           // the server that the client has come to on its list
	last     int           // the server with which it has last had a session
	dialAt   time.Duration // when the client tries to connect; only while phase is dialing
	lastZxid int64

	handshakeBy time.Duration // when the client gives up waiting for an answer; only while phase is connecting

	closing  bool    // Close has been called; the client does not connect again
	unsent   []*call // wait for a connection
	inFlight []*call // sent, not yet answered
	watchers []watcher

	observed uint64 // hash of all that has been delivered
	sent     uint64 // hash of all that the process has asked for

	// The slices above begin here, and mostly need no more.
	space struct {
		submitted, inFlight [2]*call
		watchers            [2]watcher
		idle                [2]chan struct{}
	}
}

// A call is a request of a modelled client and whoever waits for its answer.
type call struct {
	request
	err    error
	events <-chan zk.Event // where the watch that the call has set will tell
	done   chan struct{}   // receives once; closed without a value when the run is torn down. Nil for the client's own requests.
}

// phase says how far the client is in having a connection.
type phase uint8

const (
	connected  phase = iota // with a session
	dialing                 // waiting to try again
	connecting              // has asked for its session
	shut                    // closed by the process
)

// dialPause is how long the client waits once it has tried all servers, and with a single one that is always.
const dialPause = time.Second

// eventSlots is the capacity of the client's channel of events; what finds it full is dropped.
const eventSlots = 6

// watching is what a client-side watch waits for.
type watching struct {
	path string
	kind watchKind
}

// A watcher is the channels that wait for the same.
type watcher struct {
	watching
	channels []chan zk.Event
}

// Connect adds a modelled client that already has a session. Processes are numbered from 1 in the order of the calls.
func (c *Cluster) Connect() *Conn {
	conn := &Conn{}
	conn.host = len(c.links) % c.Servers()
	conn.last = conn.host
	conn.Link = c.addLink(&conn.link, int32(len(c.links)+1), conn.host, loopback[0].ID)
	conn.end, conn.pings = conn, true
	conn.submitted, conn.inFlight = conn.space.submitted[:0], conn.space.inFlight[:0]
	conn.watchers, conn.idle = conn.space.watchers[:0], conn.space.idle[:0]
	conn.session = c.openSession(conn.Link, c.config.SessionTimeout)
	conn.session.attach(conn.Link, c.now, c.config.TickTime)
	conn.sessionID.Store(conn.session.id)
	conn.connState.Store(int32(zk.StateHasSession))
	c.catchUp()
	return conn
}

// Events returns the channel on which the client tells its state and all watch events. It holds 6 events and drops
// what finds it full, as go-zookeeper/zk does. Of what happened before the first call it holds the making of the first
// session; call it before the client is used.
func (c *Conn) Events() <-chan zk.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tornDown {
		ended := make(chan zk.Event)
		close(ended)
		return ended
	}
	if c.events == nil {
		c.events = make(chan zk.Event, eventSlots)
		for _, state := range [...]zk.State{zk.StateConnecting, zk.StateConnected, zk.StateHasSession} {
			c.events <- zk.Event{Type: zk.EventSession, State: state}
		}
	}
	return c.events
}

// SessionID returns the session's id, 0 while there is none.
func (c *Conn) SessionID() int64 { return c.sessionID.Load() }

// State returns the state of the connection.
func (c *Conn) State() zk.State { return zk.State(c.connState.Load()) }

// submit hands a request over and waits for the answer.
func (c *Conn) submit(ask wire.Request) *call {
	r := &call{request: request{Request: ask}}
	c.mu.Lock()
	if c.tornDown || c.crashed.Load() {
		c.mu.Unlock()
		runtime.Goexit()
	}
	if c.closed.Load() {
		c.mu.Unlock()
		r.err = zk.ErrConnectionClosed
		return r
	}
	if r.Op == wire.OpCloseSession {
		c.closed.Store(true)
	}
	if last := len(c.idle) - 1; last >= 0 {
		r.done = c.idle[last]
		c.idle = c.idle[:last]
	} else {
		r.done = make(chan struct{}, 1)
	}
	c.submitted = append(c.submitted, r)
	c.fresh.Store(true)
	c.mu.Unlock()
	c.Notify()
	if _, answered := <-r.done; !answered {
		runtime.Goexit()
	}
	c.mu.Lock()
	c.idle = append(c.idle, r.done)
	c.mu.Unlock()
	return r
}

// Create creates a node and returns its path, which for a sequential node ends in its number.
func (c *Conn) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	switch {
	case flags < zk.FlagPersistent || flags > zk.FlagPersistentSequentialWithTTL:
		return "", fmt.Errorf("invalid flag value: [%v]", flags)
	case flags >= zk.FlagTTL:
		return "", fmt.Errorf("Create with TTL flag disallowed: %w", zk.ErrInvalidFlags)
	}
	if !tree.ValidPath(path, flags&zk.FlagSequence != 0) {
		return "", zk.ErrInvalidPath
	}
	r := c.submit(wire.Request{Op: wire.OpCreate, Path: path, Data: data, Flags: flags, ACL: wireACL(acl)})
	return r.result.Path, r.err
}

// CreateProtectedEphemeralSequential creates a node whose name holds a GUID, by which a lost reply's node is found
// again. It gives up where go-zookeeper/zk gives up: when the search fails, and after three tries.
func (c *Conn) CreateProtectedEphemeralSequential(path string, data []byte, acl []zk.ACL) (string, error) {
	if !tree.ValidPath(path, true) {
		return "", zk.ErrInvalidPath
	}
	i := strings.LastIndexByte(path, '/')
	directory := path[:i]
	prefix := fmt.Sprintf("_c_%x-", c.nextGUID())
	var err error
	for range 3 {
		var created string
		created, err = c.Create(directory+"/"+prefix+path[i+1:], data, zk.FlagEphemeral|zk.FlagSequence, acl)
		switch err {
		case nil:
			return created, nil
		case zk.ErrSessionExpired:
		case zk.ErrConnectionClosed:
			children, _, err := c.Children(directory)
			if err != nil {
				return "", err
			}
			for _, name := range children {
				if strings.HasPrefix(name, prefix) {
					return directory + "/" + name, nil
				}
			}
		default:
			return "", err
		}
	}
	return "", err
}

// Delete deletes a node that has the version, or any version if that is -1.
func (c *Conn) Delete(path string, version int32) error {
	if !tree.ValidPath(path, false) {
		return zk.ErrInvalidPath
	}
	return c.submit(wire.Request{Op: wire.OpDelete, Path: path, Version: version}).err
}

// Set sets the data of a node that has the version, or any version if that is -1.
func (c *Conn) Set(path string, data []byte, version int32) (*zk.Stat, error) {
	if !tree.ValidPath(path, false) {
		return nil, zk.ErrInvalidPath
	}
	return stat(c.submit(wire.Request{Op: wire.OpSetData, Path: path, Data: data, Version: version}))
}

// Get returns the data of a node.
func (c *Conn) Get(path string) ([]byte, *zk.Stat, error) {
	if !tree.ValidPath(path, false) {
		return nil, nil, zk.ErrInvalidPath
	}
	r := c.submit(wire.Request{Op: wire.OpGetData, Path: path})
	s, err := stat(r)
	return r.result.Data, s, err
}

// GetW returns the data of a node and sets a watch on it. There is no watch if it returns an error.
func (c *Conn) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	if !tree.ValidPath(path, false) {
		return nil, nil, nil, zk.ErrInvalidPath
	}
	r := c.submit(wire.Request{Op: wire.OpGetData, Path: path, Watch: true})
	if r.err != nil {
		return nil, nil, nil, r.err
	}
	return r.result.Data, (*zk.Stat)(&r.result.Stat), r.events, nil
}

// Exists tells whether there is a node.
func (c *Conn) Exists(path string) (bool, *zk.Stat, error) {
	if !tree.ValidPath(path, false) {
		return false, nil, zk.ErrInvalidPath
	}
	r := c.submit(wire.Request{Op: wire.OpExists, Path: path})
	if r.err == zk.ErrNoNode {
		return false, (*zk.Stat)(&r.result.Stat), nil
	}
	s, err := stat(r)
	return err != zk.ErrConnectionClosed, s, err
}

// ExistsW tells whether there is a node, and sets a watch for its creation or its end.
func (c *Conn) ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error) {
	if !tree.ValidPath(path, false) {
		return false, nil, nil, zk.ErrInvalidPath
	}
	r := c.submit(wire.Request{Op: wire.OpExists, Path: path, Watch: true})
	if r.err != nil && r.err != zk.ErrNoNode {
		return false, nil, nil, r.err
	}
	return r.err == nil, (*zk.Stat)(&r.result.Stat), r.events, nil
}

// Children returns the names of a node's children, in no order.
func (c *Conn) Children(path string) ([]string, *zk.Stat, error) {
	if !tree.ValidPath(path, false) {
		return nil, nil, zk.ErrInvalidPath
	}
	r := c.submit(wire.Request{Op: wire.OpGetChildren2, Path: path})
	s, err := stat(r)
	return r.result.Children, s, err
}

// ChildrenW returns the names of a node's children, in no order, and sets a watch on them.
func (c *Conn) ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	if !tree.ValidPath(path, false) {
		return nil, nil, nil, zk.ErrInvalidPath
	}
	r := c.submit(wire.Request{Op: wire.OpGetChildren2, Path: path, Watch: true})
	if r.err != nil {
		return nil, nil, nil, r.err
	}
	return r.result.Children, (*zk.Stat)(&r.result.Stat), r.events, nil
}

// Sync returns once the server has seen all that was committed before.
func (c *Conn) Sync(path string) (string, error) {
	if !tree.ValidPath(path, false) {
		return "", zk.ErrInvalidPath
	}
	r := c.submit(wire.Request{Op: wire.OpSync, Path: path})
	return r.result.Path, r.err
}

// Close ends the session. It returns when the server has answered, or the connection is lost. All calls after it
// return zk.ErrConnectionClosed.
func (c *Conn) Close() { c.submit(wire.Request{Op: wire.OpCloseSession}) }

// stat returns what *zk.Conn does: a nil stat after a lost connection, a stat beside every other error.
func stat(r *call) (*zk.Stat, error) {
	if r.err == zk.ErrConnectionClosed {
		return nil, r.err
	}
	return (*zk.Stat)(&r.result.Stat), r.err
}

// wireACL returns the ACL as it goes over the wire. That which is all but universal costs nothing.
func wireACL(acl []zk.ACL) []wire.ACL {
	if len(acl) == 1 && wire.ACL(acl[0]) == tree.Open[0] {
		return tree.Open
	}
	converted := make([]wire.ACL, len(acl))
	for i, a := range acl {
		converted[i] = wire.ACL(a)
	}
	return converted
}

// clientACL returns an ACL as the client library shows it.
func clientACL(acl []wire.ACL) []zk.ACL {
	converted := make([]zk.ACL, len(acl))
	for i, a := range acl {
		converted[i] = zk.ACL(a)
	}
	return converted
}
