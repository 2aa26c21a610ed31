package simzk

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A Conn is a modelled client: it has the methods of *zk.Conn and does what go-zookeeper/zk v1.0.4
// does, without sockets or goroutines of its own. These methods may be called by any goroutine of
// the client's process; they block until the cluster's caller has let the request through. A
// goroutine that calls one after its process has crashed ends there, by [runtime.Goexit].
//
// Where the client leaves something to chance, by a select among several channels or the order of a
// map, the model always does the same of what the client may do.
type Conn struct {
	*Link
	link Link // to which the pointer above points

	stub      *StubClient // in the place of the process; mostly nil
	firstHost int         // the server with which the client begins
	sessionID atomic.Int64
	status    atomic.Int32 // a zk.State
	closed    atomic.Bool

	hasSubmitted atomic.Bool // something was submitted since the last collection

	mu           sync.Mutex
	calls        arena[call]
	ops          arena[wire.Request] // of the calls that are multis
	submitted    []*call             // by the process, not yet collected
	recycled     []*call             // has the memory of what was collected last
	waiting      []*call             // for whose answers a goroutine of the process waits
	freeDone     []chan struct{}     // on which nobody waits for an answer any more
	closeDone    chan struct{}       // closed when the first Close returns; nil until Close is called
	events       chan zk.Event       // nil until somebody asks for it
	eventsClosed bool                // all that there will be of events
	tornDown     bool
	isShutDown   bool // the run is over, and the process needs the client no more; see [Link.ShutDown]

	connState

	// The slices above begin here, and mostly need no more.
	inline struct {
		submitted, taken, waiting, inFlight [2]*call
		watchers                            [2]watcher
		idle                                [2]chan struct{}
	}
}

// A connState is all of a modelled client that is for the cluster's caller alone; see [Snapshot].
type connState struct {
	phase       phase
	host        int           // the server that the client has come to on its list
	lastHost    int           // the server with which it has last had a session
	dialAt      time.Duration // when the client tries to connect; only while phase is dialing
	lastZxid    int64
	rearmTiming rearmTiming

	keepalive

	// that the server has accepted, which every new connection has to be told again
	credentials []credential
	// how many of them this connection has been told; only while phase is proving
	credentialsSent int

	closing  bool    // Close has been called; the client does not connect again
	unsent   []*call // wait for a connection
	inFlight []*call // sent, not yet answered
	watchers []watcher
	keyCache watchersKeyCache

	receivedHash uint64 // hash of all that has been delivered
	sentHash     uint64 // hash of all that the process has asked for

	channels arena[[1]watchChannel] // of watchers that have but one
}

// A call is a request of a modelled client and whoever waits for its answer.
type call struct {
	request
	// as the caller gets to know it: without anything in it if the call has failed by itself
	answer *tree.Result
	err    error           // what the caller gets to know
	events <-chan zk.Event // where the watch that the call has set will tell
	// the number of the channel that the watch tells on, where a [StubClient] has made the call
	watch int32
	// receives once; closed without a value when the run is torn down. Nil for the client's own
	// requests.
	done chan struct{}
}

// How many of these a client has in most runs.
const (
	callArenaSize    = 24
	opArenaSize      = 8
	watcherArenaSize = 8
)

// A credential is what a process has proved its identity with.
type credential struct {
	scheme string
	// the caller's own slice, as go-zookeeper/zk keeps it: who overwrites a password sends the rest
	// again
	data []byte
}

// phase says how far the client is in having a connection.
type phase uint8

const (
	connected      phase = iota // with a session
	dialing                     // waiting to try again
	connecting                  // has asked for its session
	authenticating              // with a session, and before anything else the credentials once more
	terminated                  // closed by the process
)

// rearmTiming says when the client sets its watches again; see [Cluster.DelayWatches].
type rearmTiming uint8

const (
	rearmOnSession  rearmTiming = iota // as soon as it has its session
	rearmNextLate                      // not that soon, the next time it has its session
	rearmAfterReply                    // when the next call is answered
)

// dialPause is how long the client waits once it has tried all servers, and with a single one that
// is always.
const reconnectDelay = time.Second

// closePause is how long Close waits for its answer.
const closeTimeout = time.Second

// eventSlots is the capacity of the client's channel of events; what finds it full is dropped.
const eventBufferSize = 6

// watchKey is what a client-side watch waits for.
type watchKey struct {
	path string
	kind watchKind
}

// A watcher is the channels that wait for the same.
type watcher struct {
	watchKey
	hash     uint64 // of the path
	channels []watchChannel
}

// A watchersKeyCache is what the watchers of a client add to its key: it is the same until one comes or
// goes, or the tree changes, or what the client knows of it.
type watchersKeyCache struct {
	key      uint64
	tree     uint64 // by its hash
	lastZxid int64  // the last transaction that the client knew of
	valid    bool
}

// A watchChannel is what a call that has set a watch gives its caller, or the number of that where
// a [StubClient] is the caller.
type watchChannel struct {
	channel chan zk.Event
	number  int32
}

// Connect adds a modelled client that already has a session. Processes are numbered from 1 in the
// order of the calls.
func (c *Cluster) Connect() *Conn {
	conn := c.newConn()
	conn.session = c.openSession(conn.Link, c.config.SessionTimeout)
	c.attach(conn.session, conn.Link)
	conn.sessionID.Store(conn.session.id)
	conn.status.Store(int32(zk.StateHasSession))
	c.replicateNow()
	return conn
}

// Join adds a modelled client in the middle of a run. It connects, and opens its session, like any
// that has lost both.
func (c *Cluster) Join() *Conn {
	conn := c.newConn()
	conn.host = (conn.firstHost + c.Servers() - 1) % c.Servers()
	conn.lastHost = conn.host
	conn.redial()
	return conn
}

func (c *Cluster) newConn() *Conn {
	if c.used == len(c.conns) {
		c.conns = append(c.conns, new(Conn))
	}
	conn := c.conns[c.used]
	c.used++
	*conn = Conn{
		calls: conn.calls.reset(), ops: conn.ops.reset(),
		connState: connState{channels: conn.channels.reset()},
	}
	conn.firstHost = len(c.links) % c.Servers()
	conn.host, conn.lastHost = conn.firstHost, conn.firstHost
	conn.Link = c.addLink(&conn.link, int32(len(c.links)+1), conn.host, loopback[0].ID)
	conn.end, conn.pings = conn, true
	conn.submitted, conn.recycled, conn.waiting = conn.inline.submitted[:0], conn.inline.taken[:0],
		conn.inline.waiting[:0]
	conn.inFlight = conn.inline.inFlight[:0]
	conn.watchers, conn.freeDone = conn.inline.watchers[:0], conn.inline.idle[:0]
	return conn
}

// Events returns the channel on which the client tells its state and all watch events. It holds 6
// events and drops what finds it full, as go-zookeeper/zk does. Of what happened before the first
// call it holds the making of the first session; call it before the client is used.
func (c *Conn) Events() <-chan zk.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.events == nil {
		c.events = make(chan zk.Event, eventBufferSize)
		for _, state := range [...]zk.State{
			zk.StateConnecting, zk.StateConnected,
			zk.StateHasSession,
		} {
			c.events <- zk.Event{Type: zk.EventSession, State: state, Server: hostName(c.firstHost)}
		}
		if c.eventsClosed {
			close(c.events)
		}
	}
	return c.events
}

// SessionID returns the session's id, 0 while there is none.
func (c *Conn) SessionID() int64 { return c.sessionID.Load() }

// State returns the state of the connection.
func (c *Conn) State() zk.State { return zk.State(c.status.Load()) }

// submit hands a request over and waits for the answer.
func (c *Conn) submit(ask wire.Request) *call {
	c.lockOrExit()
	r := c.calls.next(callArenaSize)
	r.Request = ask
	if c.closed.Load() {
		c.mu.Unlock()
		c.Notify()
		r.answer, r.err = new(tree.Result), zk.ErrConnectionClosed
		return r
	}
	if last := len(c.freeDone) - 1; last >= 0 {
		r.done = c.freeDone[last]
		c.freeDone = c.freeDone[:last]
	} else {
		r.done = make(chan struct{}, 1)
	}
	c.enqueue(r)
	if _, answered := <-r.done; !answered {
		runtime.Goexit()
	}
	c.mu.Lock()
	c.freeDone = append(c.freeDone, r.done)
	c.mu.Unlock()
	return r
}

// lockOrExit takes the lock, or ends the goroutine if its process has crashed or the run is over.
func (c *Conn) lockOrExit() {
	c.mu.Lock()
	if c.tornDown || c.crashed.Load() {
		c.mu.Unlock()
		runtime.Goexit()
	}
	if c.isShutDown {
		c.mu.Unlock()
		c.countCallAfterShutDown()
		c.mu.Lock()
	}
}

// enqueue puts a call before the cluster's caller. It gives the lock back, which its caller has
// taken.
func (c *Conn) enqueue(r *call) {
	c.submitted = append(c.submitted, r)
	c.waiting = append(c.waiting, r)
	c.hasSubmitted.Store(true)
	c.mu.Unlock()
	c.Notify()
}

// failLocally returns the error of a call that is not worth a request. It is a sign of life all the
// same.
func (c *Conn) failLocally(err error) error {
	c.lockOrExit()
	c.mu.Unlock()
	c.Notify()
	return err
}

// removeWaiting takes a call out of those that wait, and tells whether it was one of them. The caller
// holds the lock.
func (c *Conn) removeWaiting(r *call) bool {
	i := slices.Index(c.waiting, r)
	if i >= 0 {
		c.waiting = slices.Delete(c.waiting, i, i+1)
	}
	return i >= 0
}

// Close ends the session. All calls that wait return zk.ErrConnectionClosed at once, though their
// requests may still be carried out, and so do all calls after it. Close itself returns when the
// server has answered, when the client can do nothing for an answer any more, and at the latest
// after a second. A second Close waits for the first.
func (c *Conn) Close() {
	c.lockOrExit()
	if quits := c.closeDone; quits != nil {
		c.mu.Unlock()
		c.Notify()
		<-quits
		c.lockOrExit()
		c.mu.Unlock()
		return
	}
	c.closeDone = make(chan struct{})
	defer close(c.closeDone)
	c.closed.Store(true)
	for _, r := range c.waiting {
		r.answer, r.err = new(tree.Result), zk.ErrConnectionClosed
		r.done <- struct{}{}
	}
	c.waiting = c.waiting[:0]
	r := &call{
		request: request{Request: wire.Request{Op: wire.OpCloseSession}},
		done:    make(chan struct{}, 1),
	}
	c.enqueue(r)
	timeout := time.NewTimer(closeTimeout)
	defer timeout.Stop()
	select {
	case <-r.done:
	case <-timeout.C:
	}
	c.lockOrExit()
	c.removeWaiting(r)
	c.mu.Unlock()
}
