package real

import (
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client/internal/library"
	"github.com/interlock-sim/interlock/simzk/dial"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// An Endpoint is where the clients that a process opens itself reach the simulated servers. They
// find it through package dial, by its address. It knows no more of a client than what travels
// over the connection, so any client library will do that asks package dial. The process may open
// one client after the other, and has one connection at a time.
//
// The conditions on the program are those of [Conn].
type Endpoint struct {
	link    simzk.Link
	cluster *simzk.Cluster
	first   int // the server that the process's list begins with
	guids   library.GUIDs

	isPaused   atomic.Bool
	isTornDown atomic.Bool
	// The run is over and the process done; see [simzk.Link.ShutDown].
	isShutDown atomic.Bool
	late       library.LateCalls

	mu    sync.Mutex
	dials []dialRequest // by the process's clients

	// Only the cluster's caller uses the fields below.

	pipe         *pipe // nil without a connection
	isGreeted    bool  // the connection's handshake has been sent
	isClosing    bool  // the client has asked to close its session
	session      int64 // of the last handshake
	redialAt     time.Duration
	inFlight     []*simzk.Exchange
	receivedHash uint64
	sentHash     uint64
	buffer       []byte
}

// Listen adds a process that opens its clients itself. Processes are numbered from 1 in the order
// of the calls. The cluster must have a Settle function.
func Listen(c *simzk.Cluster) *Endpoint {
	r := &Endpoint{cluster: c}
	c.AddClient(&r.link, endpointEnd{r})
	r.first = r.link.ServerIndex()
	for server := range c.Servers() {
		dial.Register(r.host(server), network{r})
	}
	return r
}

// Link returns the process's link.
func (r *Endpoint) Link() *simzk.Link { return &r.link }

// Address returns the list of servers for the process's clients, as host:port and separated by
// commas.
func (r *Endpoint) Address() string {
	servers := r.cluster.Servers()
	hosts := make([]string, servers)
	for i := range hosts {
		hosts[i] = r.host((r.first + i) % servers)
	}
	return strings.Join(hosts, ",")
}

// host returns the process's address of a server. The addresses of processes differ, which tells
// their connections apart. They are IP addresses of the loopback interface: nothing looks them up,
// and outside of a run nothing answers there.
func (r *Endpoint) host(server int) string {
	return fmt.Sprintf("127.0.%d.%d:2181", r.link.Process(), server+1)
}

// A network is an endpoint as client libraries use it, on their goroutines.
type network struct{ of *Endpoint }

var errLinkDown = errors.New("interlock: the link is down")

// Dial waits until the cluster decides whether the server is reachable.
func (n network) Dial(address string, timeout time.Duration) (net.Conn, error) {
	r := n.of
	server := 0
	for r.host(server) != address {
		server++
	}
	answer := make(chan *pipe, 1)
	r.mu.Lock()
	if r.isTornDown.Load() {
		r.mu.Unlock()
		return nil, dial.ErrOver
	}
	r.dials = append(r.dials, dialRequest{server, answer})
	r.mu.Unlock()
	r.notifyCluster()
	var timedOut <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		timedOut = timer.C
	}
	select {
	case p := <-answer:
		return n.answered(p)
	case <-timedOut:
	}
	r.mu.Lock()
	waiting := len(r.dials)
	r.dials = slices.DeleteFunc(r.dials, func(d dialRequest) bool { return d.answer == answer })
	waits := len(r.dials) < waiting
	r.mu.Unlock()
	if !waits { // The answer came at the same moment.
		return n.answered(<-answer)
	}
	return nil, errors.New("interlock: the attempt to connect timed out")
}

// answered returns what a dial request was answered with.
func (n network) answered(p *pipe) (net.Conn, error) {
	switch {
	case p != nil:
		return p, nil
	case n.of.isTornDown.Load():
		return nil, dial.ErrOver
	}
	return nil, errLinkDown
}

// Call implements [dial.Network].
func (n network) Call() error {
	r := n.of
	switch {
	case r.isShutDown.Load():
		r.late.Count()
		return dial.ErrOver
	case r.isTornDown.Load() || r.link.Crashed():
		runtime.Goexit()
	}
	r.notifyCluster()
	return nil
}

// Random implements [dial.Network].
func (n network) Random() io.Reader { return n }

// Read fills p with the next GUID of the process, or a part of it.
func (n network) Read(p []byte) (int, error) {
	return copy(p, n.of.guids.Next(n.of.link.Process())), nil
}

// notifyCluster is called by the client's goroutines when they act. It ignores a crashed process,
// which waits for the end of the run, and a paused one.
func (r *Endpoint) notifyCluster() {
	if !r.link.Crashed() && !r.isPaused.Load() {
		r.link.Notify()
	}
}

// awaited reports whether a client of the process waits for the answer to its dial request.
func (r *Endpoint) awaited() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.dials) > 0 && (r.pipe == nil || !r.isClosing)
}

// advance answers dial requests.
func (r *Endpoint) advance() {
	if r.link.Crashed() {
		return
	}
	if r.pipe != nil && r.pipe.closedByClient() {
		// The client timed out, and may be dialing again already.
		r.cluster.ResetConnection(&r.link)
	}
	for r.answerDial() {
		r.cluster.Settle()
		r.collect()
	}
}

// answerDial answers the next dial request, and reports whether there was one.
func (r *Endpoint) answerDial() bool {
	if !r.awaited() {
		return false
	}
	if r.pipe != nil {
		panic(fmt.Sprintf("interlock: process c%d opens a connection to ZooKeeper while it has "+
			"another: only one at a time is simulated", r.link.Process()))
	}
	r.mu.Lock()
	request := r.dials[0]
	r.dials = r.dials[1:]
	r.mu.Unlock()
	if !r.cluster.Dial(&r.link, request.host) {
		r.redialAt = r.cluster.Now() + library.ReconnectDelay
		request.answer <- nil
		return true
	}
	r.pipe, r.isGreeted, r.isClosing = newPipe(r.notifyCluster), false, false
	request.answer <- r.pipe
	return true
}

// disconnected closes the connection and lets the client notice.
func (r *Endpoint) disconnected() {
	if r.pipe == nil {
		return
	}
	r.pipe.end()
	r.pipe, r.redialAt = nil, r.cluster.Now()+library.ReconnectDelay
	for _, q := range r.inFlight {
		r.receivedHash = recordUnanswered(r.cluster, &r.link, q, r.receivedHash)
	}
	r.inFlight = nil
	r.cluster.Settle()
}

// collect transmits the frames that the client has written.
func (r *Endpoint) collect() {
	if r.pipe == nil || r.link.Crashed() {
		return
	}
	frames, closed := r.pipe.take()
	if closed {
		r.cluster.ResetConnection(&r.link)
		return
	}
	batch := make([]*simzk.Exchange, 0, len(frames))
	for _, frame := range frames {
		q, err := simzk.ParseFrame(frame, r.isGreeted)
		if err != nil {
			panic(fmt.Sprintf("interlock: c%d sends what no server can read: %v",
				r.link.Process(), err))
		}
		r.isGreeted = true
		r.isClosing = r.isClosing || q.Op == wire.OpCloseSession
		if q.Watches != nil {
			library.SortWatches(q.Watches)
		}
		batch = append(batch, q)
	}
	sortCalls(batch)
	for _, q := range batch {
		r.sentHash = hashSent(r.sentHash, q)
		r.cluster.Send(&r.link, q, senderOnStacks(r.cluster, &r.link, &q.Request))
		r.inFlight = append(r.inFlight, q)
	}
}

// sortCalls sorts the calls that the process has made at the same time. Requests that the library
// makes itself keep their places.
func sortCalls(batch []*simzk.Exchange) {
	start := 0
	for i, q := range batch {
		if isInternal(q) {
			sortSimultaneous(batch[start:i])
			start = i + 1
		}
	}
	sortSimultaneous(batch[start:])
}

// isInternal reports whether the client library makes such requests itself.
func isInternal(q *simzk.Exchange) bool {
	switch q.Op {
	case wire.OpCreateSession, wire.OpCloseSession, wire.OpSetWatches, wire.OpAuth:
		return true
	}
	return false
}

// deliver passes a message from the server to the client.
func (r *Endpoint) deliver(m simzk.Message) {
	r.receivedHash = hashReceived(r.receivedHash, m)
	r.buffer = r.cluster.AppendFrame(r.buffer[:0], m)
	r.pipe.push(r.buffer)
	q := m.Reply
	if q == nil {
		return
	}
	r.inFlight = slices.DeleteFunc(r.inFlight,
		func(other *simzk.Exchange) bool { return other == q })
	switch {
	case q.Op == wire.OpCreateSession:
		if r.session = q.Session; q.Session == 0 {
			r.disconnected() // The server has closed the connection.
			return
		}
		r.cluster.BeginPings(&r.link)
	case q.Op == wire.OpCloseSession:
		r.disconnected()
	}
}

// tearDown ends the process's clients.
func (r *Endpoint) tearDown() {
	r.mu.Lock()
	r.isTornDown.Store(true)
	dials := r.dials
	r.dials = nil
	r.mu.Unlock()
	for _, request := range dials {
		request.answer <- nil
	}
	if r.pipe != nil {
		r.pipe.abandon()
		r.pipe = nil
	}
}

// shutDown ends the process's clients. Waiting calls and later ones fail.
func (r *Endpoint) shutDown() {
	r.isShutDown.Store(true)
	r.tearDown()
}
