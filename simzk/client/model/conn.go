// Package model is a model of the client go-zookeeper/zk v1.0.4 on the simulated ZooKeeper.
//
// A [Conn] has the methods and the errors of *zk.Conn. A search that has cached the reactions of a
// process replaces the process by a [Stub], and runs its code in isolation by an [Isolated].
package model

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/internal/base/callsite"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client"
	"github.com/interlock-sim/interlock/simzk/client/internal/library"
	"github.com/interlock-sim/interlock/simzk/internal/memory"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A Conn is a model client: it has the methods of *zk.Conn and the behaviour of go-zookeeper/zk
// v1.0.4, without sockets or goroutines of its own. Any goroutine of the client's process may call
// these methods. They block until the cluster's caller has delivered the reply. Once the process
// has crashed, no call returns: its goroutine waits for the end of the run, and exits by
// [runtime.Goexit].
//
// Where the client is nondeterministic, by a select among several channels or the order of a map,
// the model always makes the same choice among the possible ones.
type Conn struct {
	*simzk.Link
	link    simzk.Link // storage of the embedded Link
	cluster *simzk.Cluster
	guids   library.GUIDs
	first   *Conn                // nil if the client is the first of its process
	family  library.Family[Conn] // of the first client

	stub      *Stub // replaces the process; usually nil
	firstHost int   // the first server on the client's list
	sessionID atomic.Int64
	status    atomic.Int32 // a zk.State
	stateRead atomic.Bool  // the process has called State
	closed    atomic.Bool

	hasSubmitted atomic.Bool // submitted is not empty

	mu           sync.Mutex
	calls        memory.Arena[call]
	ops          memory.Arena[wire.Request] // operations of multis
	submitted    []*call                    // by the process, not yet collected
	recycled     []*call                    // the backing array of the last collection
	waiting      []*call                    // calls in which a goroutine of the process is blocked
	freeDone     []chan struct{}            // done channels for reuse
	closeDone    chan struct{}              // closed when the first Close returns; nil before Close
	events       chan zk.Event              // nil before the first call of Events
	eventsClosed bool                       // no further event will be sent
	tornDown     bool
	over         chan struct{} // closed when the client is torn down; nil unless awaited
	isShutDown   bool          // the run is over and the process done; see [simzk.Link.ShutDown]
	late         library.LateCalls

	connState

	// Initial backing arrays of the slices above, which rarely grow.
	inline struct {
		submitted, recycled, waiting, inFlight [2]*call
		watchers                               [2]watcher
		idle                                   [2]chan struct{}
	}
}

// A connState is the part of a model client that only the cluster's caller uses; see
// [simzk.Snapshot].
type connState struct {
	phase       library.Phase
	host        int           // current server on the client's list
	lastHost    int           // server of the last session
	dialAt      time.Duration // time of the next connection attempt; only while dialing
	lastZxid    int64
	rearmTiming rearmTiming

	keepalive library.Keepalive

	// Accepted by the server; sent again on every new connection.
	credentials []credential
	// Number of credentials sent on this connection; only while authenticating.
	credentialsSent int

	closing  bool    // Close was called; the client does not reconnect
	unsent   []*call // waiting for a connection
	inFlight []*call // sent, not yet answered
	watchers []watcher
	keyCache watchersKeyCache

	receivedHash uint64 // hash of all deliveries
	sentHash     uint64 // hash of all requests of the process

	channels memory.Arena[[1]watchChannel] // of watchers with a single channel
}

// A call is a request of a model client together with its waiting caller.
type call struct {
	simzk.Exchange
	// What the caller sees: a zero value if the call failed locally.
	answer *tree.Result
	err    error           // what the caller sees
	events <-chan zk.Event // channel of the watch that the call has set
	// Number of the watch's channel, if a [Stub] made the call.
	watch int32
	// The line of the process that made the call; nil if unknown or if the history gathers no
	// facts.
	caller *callsite.Site
	// Receives once; closed without a value when the run is torn down. Nil for the client's own
	// requests.
	done chan struct{}
}

// site returns the line of the process that made the call, if it is known.
func (r *call) site() callsite.Site {
	if r.caller == nil {
		return callsite.Site{}
	}
	return *r.caller
}

// Arena sizes that suffice for most runs.
const (
	callArenaSize    = 24
	opArenaSize      = 8
	watcherArenaSize = 8
)

// A credential is an argument of AddAuth.
type credential struct {
	scheme string
	// The caller's own slice, as in go-zookeeper/zk: if the caller overwrites it, the client
	// resends the new content.
	data []byte
}

// rearmTiming says when the client sends SetWatches after a reconnect; see [DelayWatches].
type rearmTiming uint8

const (
	rearmOnSession  rearmTiming = iota // as soon as it has its session
	rearmNextLate                      // late at the next reconnect
	rearmAfterReply                    // after the next reply
)

// closeTimeout is the maximum time that Close waits for its reply.
const closeTimeout = time.Second

// eventBufferSize is the capacity of the client's event channel. The client drops events while it
// is full.
const eventBufferSize = 6

// A watchKey identifies a client-side watch.
type watchKey struct {
	path string
	kind watcherKind
}

// A watcherKind is what a client-side watch waits for.
type watcherKind uint8

const (
	dataWatcher  watcherKind = iota // the node's deletion or a change of its data
	existWatcher                    // the node's creation
	childWatcher                    // the node's deletion, or a child's creation or deletion
)

// A watcher is the set of channels that wait for the same watch.
type watcher struct {
	watchKey
	hash     uint64 // of the path
	channels []watchChannel
}

// A watchersKeyCache caches the result of [Conn.watchersKey]. It is valid until a watcher comes or
// goes, the tree changes, or the client's last zxid does.
type watchersKeyCache struct {
	key      uint64
	tree     uint64 // hash of the tree
	lastZxid int64  // the last transaction that the client knew of
	valid    bool
}

// A watchChannel is the channel that a call with a watch returns, or its number if a [Stub]
// made the call.
type watchChannel struct {
	channel chan zk.Event
	number  int32
}

// Connect adds a model client that already has a session. Processes are numbered from 1 in the
// order of the calls.
func Connect(c *simzk.Cluster) *Conn {
	conn := newConn(c)
	conn.sessionID.Store(c.GrantSession(conn.Link))
	conn.status.Store(int32(zk.StateHasSession))
	return conn
}

// Join adds a model client during a run. The client connects and opens its session like one that
// has lost both.
func Join(c *simzk.Cluster) *Conn {
	conn := newConn(c)
	conn.host = (conn.firstHost + c.Servers() - 1) % c.Servers()
	conn.lastHost = conn.host
	conn.redial()
	return conn
}

func newConn(c *simzk.Cluster) *Conn {
	recycled, ok := c.Recycled().(end)
	if !ok {
		recycled.conn = new(Conn)
	}
	conn := recycled.conn
	*conn = Conn{
		cluster: c, calls: conn.calls.Reset(), ops: conn.ops.Reset(),
		connState: connState{channels: conn.channels.Reset()},
	}
	conn.Link = &conn.link
	c.AddClient(conn.Link, end{conn})
	conn.firstHost = conn.ServerIndex()
	conn.host, conn.lastHost = conn.firstHost, conn.firstHost
	conn.submitted, conn.recycled, conn.waiting = conn.inline.submitted[:0],
		conn.inline.recycled[:0],
		conn.inline.waiting[:0]
	conn.inFlight = conn.inline.inFlight[:0]
	conn.watchers, conn.freeDone = conn.inline.watchers[:0], conn.inline.idle[:0]
	return conn
}

// Events returns the channel of session states and watch events. It has capacity 6, and the client
// drops events while it is full, as go-zookeeper/zk does. The channel misses events before the
// first call, except those of the first session's establishment; call Events before using the
// client.
func (c *Conn) Events() <-chan zk.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.events == nil {
		c.events = make(chan zk.Event, eventBufferSize)
		for _, state := range [...]zk.State{
			zk.StateConnecting, zk.StateConnected,
			zk.StateHasSession,
		} {
			c.events <- zk.Event{
				Type: zk.EventSession, State: state,
				Server: library.HostName(c.firstHost),
			}
		}
		if c.eventsClosed {
			close(c.events)
		}
	}
	return c.events
}

// SessionID returns the session's id, 0 if there is none.
func (c *Conn) SessionID() int64 { return c.sessionID.Load() }

// State returns the state of the connection.
func (c *Conn) State() zk.State {
	c.stateRead.Store(true)
	return zk.State(c.status.Load())
}

// submit hands over a request and waits for the reply.
func (c *Conn) submit(req wire.Request) *call {
	c.lockOrExit()
	r := c.calls.Next(callArenaSize)
	r.Request = req
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

// lockOrExit takes the lock, or ends the goroutine if the run is over. If the process has crashed,
// the goroutine waits for that.
func (c *Conn) lockOrExit() {
	c.DemandOwn()
	c.mu.Lock()
	if c.Crashed() && !c.tornDown {
		c.awaitEnd()
	}
	if c.tornDown {
		c.mu.Unlock()
		runtime.Goexit()
	}
	if c.isShutDown {
		c.mu.Unlock()
		c.late.Count()
		c.mu.Lock()
	}
}

// awaitEnd waits until the client is torn down. The caller holds the lock.
func (c *Conn) awaitEnd() {
	if c.over == nil {
		c.over = make(chan struct{})
	}
	over := c.over
	c.mu.Unlock()
	<-over
	c.mu.Lock()
}

// enqueue queues a call for the cluster's caller. Its caller holds the lock; enqueue releases it.
func (c *Conn) enqueue(r *call) {
	if c.cluster.GathersFacts() {
		site := callsite.Caller(client.OwnsCall).Site
		r.caller = &site
	}
	r.Thread = c.cluster.Thread()
	c.submitted = append(c.submitted, r)
	c.waiting = append(c.waiting, r)
	c.hasSubmitted.Store(true)
	c.mu.Unlock()
	c.Notify()
}

// failLocally returns the error of a call that sends no request. The call counts as activity all
// the same.
func (c *Conn) failLocally(err error) error {
	c.lockOrExit()
	c.mu.Unlock()
	c.Notify()
	return err
}

// removeWaiting removes a call from the waiting ones, and reports whether it was one of them. The
// caller holds the lock.
func (c *Conn) removeWaiting(r *call) bool {
	i := slices.Index(c.waiting, r)
	if i >= 0 {
		c.waiting = slices.Delete(c.waiting, i, i+1)
	}
	return i >= 0
}

// Close ends the session. Waiting calls and all later ones return zk.ErrConnectionClosed at once,
// though the server may still execute the requests of the waiting calls. Close itself returns when
// the server has replied, when the client can no longer obtain a reply, and after one second at the
// latest. A second Close waits for the first.
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
		Exchange: simzk.Exchange{Request: wire.Request{Op: wire.OpCloseSession}},
		done:     make(chan struct{}, 1),
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
