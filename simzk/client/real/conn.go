// Package real runs the client go-zookeeper/zk v1.0.4 itself on the simulated ZooKeeper, over
// connections in memory.
package real

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client/internal/library"
)

// A Conn is go-zookeeper/zk's own client, unmodified, over in-memory connections. It runs its own
// goroutines, timers and buffers. The cluster decides when a frame from the client is served, when
// a frame for it is delivered, and whether it can connect.
//
// The client must run in a bubble of virtual time, and the program on one processor
// ([runtime.GOMAXPROCS]): after a lost connection, the client wakes the waiting callers and then
// fails the queued calls, so with a second processor a race decides which calls are queued.
type Conn struct {
	link    *simzk.Link // until a further client has one of its own, that of the first
	cluster *simzk.Cluster
	guids   library.GUIDs
	first   *Conn                // nil if the client is the first of its process
	family  library.Family[Conn] // of the first client
	zk      *zk.Conn
	events  <-chan zk.Event

	isPaused   atomic.Bool
	isTornDown atomic.Bool
	over       chan struct{}   // of the first client; closed when it is torn down
	run        <-chan struct{} // the activity channel of the run, which identifies it
	// The run is over and the process done; see [simzk.Link.ShutDown].
	isShutDown  atomic.Bool
	late        library.LateCalls
	activeCalls atomic.Int32 // calls that have not returned
	sites       callSites    // of the active calls
	threads     threadCalls  // of the active calls, if several threads make them

	mu            sync.Mutex
	dials         []dialRequest // by the client's goroutine
	sessionEvents []zk.Event    // not yet recorded in the history
	closeDone     chan struct{} // closed when the first Close returns; nil before Close

	// Only the cluster's caller uses the fields below.

	pipe   *pipe // nil without a connection
	phase  library.Phase
	state  zk.State      // of the last session event
	dialAt time.Duration // time of the next connection attempt; only while dialing
	// accepted by the server; the client resends them on every connection
	credentials     int
	credentialsSent int             // on this connection; only while authenticating
	lastAuth        *simzk.Exchange // last resent credential
	hosts           *hostList
	firstHost       int   // the first server on the client's list
	queueLengths    []int // increasing lengths of the client's queue; see recordQueueLength
	flushedRounds   int   // value of hosts.rounds at the last recordQueueLength
	inFlight        []*simzk.Exchange
	receivedHash    uint64
	sentHash        uint64
	buffer          []byte

	keepalive library.Keepalive
}

// Connect adds a client that runs the real client library, and lets it open its session. Processes
// are numbered from 1 in the order of the calls. The cluster must have a Settle function.
func Connect(c *simzk.Cluster) (*Conn, error) {
	r, err := start(c, -1)
	if err != nil {
		return nil, err
	}
	c.OpenSession(r.link)
	r.receivedHash, r.sentHash = 0, 0
	if r.zk.State() != zk.StateHasSession {
		return nil, errors.New("real: the client did not open its session")
	}
	return r, nil
}

// Join adds a client during a run. Like a model client, it connects and opens its session as after
// the loss of both.
func Join(c *simzk.Cluster) (*Conn, error) {
	r, err := start(c, len(c.Links())+c.Servers()-1)
	if err == nil {
		r.dialAt = c.Now() + library.ReconnectDelay
		r.settle()
		r.redial()
	}
	return r, err
}

// start adds a client that runs the real client library. Its last connection was to the given
// server, modulo their number, or there was none.
func start(c *simzk.Cluster, last int) (*Conn, error) {
	r := &Conn{
		link: new(simzk.Link), cluster: c, phase: library.Dialing, over: make(chan struct{}),
		run: c.Activity(),
	}
	c.AddClient(r.link, end{r})
	guids.attribute(c.Owner)
	r.hosts = newHosts(c.Servers(), r.link.ServerIndex())
	r.firstHost = r.link.ServerIndex()
	if last >= 0 {
		r.hosts.last = last % c.Servers()
	}
	return r, r.connect()
}

// connect starts the client library.
func (r *Conn) connect() error {
	conn, events, err := zk.Connect([]string{firstHost}, r.cluster.SessionTimeout(),
		zk.WithDialer(r.dial),
		zk.WithHostProvider(r.hosts), zk.WithLogger(silentLogger{}), zk.WithLogInfo(false),
		zk.WithEventCallback(r.onEvent),
		zk.WithMaxBufferSize(clientBuffer), zk.WithMaxConnBufferSize(clientBuffer))
	r.zk, r.events = conn, events
	return err
}

// clientBuffer is the size of the client's buffers. The default, three buffers of 1.5 MB for each
// connection, would cost more than the rest of a run.
const clientBuffer = 64 << 10

// Link returns the client's link.
func (r *Conn) Link() *simzk.Link { return r.link }

// ZK returns the client itself, for code that needs a *zk.Conn. A goroutine that uses it does not
// exit when its process crashes or the run ends: its calls block forever, or fail with
// zk.ErrConnectionClosed.
func (r *Conn) ZK() *zk.Conn { return r.zk }

// Events returns the channel that zk.Connect returned.
func (r *Conn) Events() <-chan zk.Event { return r.events }

type silentLogger struct{}

func (silentLogger) Printf(string, ...any) {}

// notifyCluster is called by the client's goroutines when they act. It ignores a crashed process,
// which waits for the end of the run, and a paused one.
func (r *Conn) notifyCluster() {
	if first := r.firstClient(); !first.link.Crashed() && !first.isPaused.Load() {
		first.link.Notify()
	}
}
