package real

import (
	"cmp"
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

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client/internal/library"
	"github.com/interlock-sim/interlock/simzk/dial"
)

// An Endpoint is where the clients that a process opens itself reach the simulated servers. They
// find it through package dial, by its address. It knows no more of a client than what travels
// over the connection, so any client library will do that asks package dial. The process may open
// any number of clients, and have [ConnectionsMax] connections at a time.
//
// The conditions on the program are those of [Conn].
type Endpoint struct {
	cluster *simzk.Cluster
	first   int // the server that the process's list begins with
	guids   library.GUIDs

	isPaused   atomic.Bool
	isTornDown atomic.Bool
	over       chan struct{} // closed when the clients are torn down
	// The run is over and the process done; see [simzk.Link.ShutDown].
	isShutDown atomic.Bool
	late       library.LateCalls

	mu    sync.Mutex
	dials []dialRequest // by the process's clients
	// A client library that is patched has dialed.
	dialed bool

	// Only the cluster's caller uses the fields below.

	connections []*ownConnection // at least one, by number
	buffer      []byte
}

// ConnectionsMax is the highest number of connections that a process has at a time. The servers
// refuse more, as ZooKeeper does by its option maxClientCnxns.
const ConnectionsMax = history.ThreadsMax

// Listen adds a process that opens its clients itself. Processes are numbered from 1 in the order
// of the calls. The cluster must have a Settle function.
func Listen(c *simzk.Cluster) *Endpoint {
	r := &Endpoint{cluster: c, over: make(chan struct{})}
	first := &ownConnection{of: r}
	c.AddClient(&first.link, endpointEnd{first})
	r.connections = append(r.connections, first)
	r.first = first.link.ServerIndex()
	for server := range c.Servers() {
		dial.Register(r.host(server), network{r})
	}
	return r
}

// Link returns the first link of the process.
func (r *Endpoint) Link() *simzk.Link { return &r.connections[0].link }

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
	return fmt.Sprintf("127.0.%d.%d:2181", r.Link().Process(), server+1)
}

// A network is an endpoint as client libraries use it, on their goroutines.
type network struct{ of *Endpoint }

var errLinkDown = errors.New("interlock: the link is down")

// Dial waits until the cluster decides whether the server is reachable. For a process that has
// crashed, it waits until the run is over.
func (n network) Dial(address string, timeout time.Duration, patched bool) (net.Conn, error) {
	r := n.of
	r.Link().DemandOwn()
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
	r.dials = append(r.dials, dialRequest{server, answer, goroutine(), !patched})
	r.dialed = r.dialed || patched
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
	if r.Link().Crashed() {
		return n.answered(<-answer)
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

// goroutine returns the number of the calling goroutine. On one processor, a goroutine that is
// started later has a higher number.
func goroutine() (number int) {
	var header [40]byte
	text := string(header[:runtime.Stack(header[:], false)])
	_, _ = fmt.Sscanf(text, "goroutine %d ", &number)
	return number
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
	r.Link().DemandOwn()
	if r.isShutDown.Load() {
		r.late.Count()
		return dial.ErrOver
	}
	n.Return()
	r.notifyCluster()
	return nil
}

// Return implements [dial.Network].
func (n network) Return() {
	switch r := n.of; {
	case r.isShutDown.Load():
	case r.Link().Crashed():
		<-r.over
		runtime.Goexit()
	case r.isTornDown.Load():
		runtime.Goexit()
	}
}

// Random implements [dial.Network].
func (n network) Random() io.Reader { return n }

// Read fills p with the next GUID of the process, or a part of it.
func (n network) Read(p []byte) (int, error) {
	return copy(p, n.of.guids.Next(n.of.Link().Process())), nil
}

// notifyCluster is called by the client's goroutines when they act. It ignores a crashed process,
// which waits for the end of the run, and a paused one.
func (r *Endpoint) notifyCluster() {
	if link := r.Link(); !link.Crashed() && !r.isPaused.Load() {
		link.Notify()
	}
}

// Dialed reports whether a client of the process has dialed a server.
func (r *Endpoint) Dialed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dialed
}

// awaited reports whether a client of the process waits for the answer to its dial request.
func (r *Endpoint) awaited() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.dials) > 0
}

// advance answers dial requests.
func (r *Endpoint) advance() {
	if r.Link().Crashed() {
		return
	}
	for _, o := range r.connections {
		if o.pipe != nil && o.pipe.closedByClient() {
			// The client timed out, and may be dialing again already.
			r.cluster.ResetConnection(&o.link)
		}
	}
	for r.awaited() {
		r.answerDial()
	}
}

// answerDial answers the next dial request. The runtime decides which of several clients dials
// first at the same instant, so the oldest client is the next.
func (r *Endpoint) answerDial() {
	r.mu.Lock()
	slices.SortStableFunc(r.dials, func(a, b dialRequest) int {
		return cmp.Compare(a.goroutine, b.goroutine)
	})
	request := r.dials[0]
	r.dials = r.dials[1:]
	r.mu.Unlock()
	if !r.Link().CanReach(request.host) || !r.hasFree() {
		r.connections[0].redialAt = r.cluster.Now() + library.ReconnectDelay
		request.answer <- nil
		r.cluster.Settle()
		return
	}
	p := newPipe(r.notifyCluster, r.Link().RoundTrip)
	p.foreign = request.foreign
	request.answer <- p
	r.cluster.Settle()
	o := r.connectionFor(sessionAskedFor(p))
	r.cluster.Dial(&o.link, request.host)
	o.pipe, o.isGreeted = p, false
	o.collect()
}

// hasFree reports whether the process may open a connection.
func (r *Endpoint) hasFree() bool {
	return len(r.connections) < ConnectionsMax ||
		slices.ContainsFunc(r.connections, (*ownConnection).isFree)
}

// connectionFor returns the ownConnection for a new connection: the free one that had the session,
// else any free one, else a new one.
func (r *Endpoint) connectionFor(session int64) *ownConnection {
	for _, o := range r.connections {
		if o.isFree() && o.session == session && session != 0 {
			return o
		}
	}
	for _, o := range r.connections {
		if o.isFree() {
			return o
		}
	}
	o := &ownConnection{of: r}
	r.cluster.AddConnection(&o.link, r.Link(), endpointEnd{o})
	r.connections = append(r.connections, o)
	return o
}

// sessionAskedFor returns the session that the client at the other end of a new connection resumes,
// or 0.
func sessionAskedFor(p *pipe) int64 {
	frame := p.peek()
	if frame == nil {
		return 0
	}
	q, err := simzk.ParseFrame(frame, false)
	if err != nil {
		return 0 // The caller finds that out when it collects the frame.
	}
	return q.Session
}

// tearDown ends the process's clients.
func (r *Endpoint) tearDown() {
	r.mu.Lock()
	if !r.isTornDown.Swap(true) {
		close(r.over)
	}
	dials := r.dials
	r.dials = nil
	r.mu.Unlock()
	for _, request := range dials {
		request.answer <- nil
	}
	for _, o := range r.connections {
		if o.pipe != nil {
			o.pipe.abandon()
			o.pipe = nil
		}
	}
}

// shutDown ends the process's clients. Waiting calls and later ones fail.
func (r *Endpoint) shutDown() {
	r.isShutDown.Store(true)
	r.tearDown()
}
