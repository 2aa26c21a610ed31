package real

import (
	"errors"
	"net"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client/internal/library"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// hostList is the client's list of servers. It iterates like the library's own, without shuffling
// or name resolution.
type hostList struct {
	count, next int
	last        int // of the last connection; -1 at first
	rounds      int // completed rounds; the client empties its queue after each
}

func newHosts(count, first int) *hostList { return &hostList{count: count, next: first, last: -1} }

func (h *hostList) Init([]string) error { return nil }

func (h *hostList) Len() int { return h.count }

func (h *hostList) Connected() { h.last = (h.next + h.count - 1) % h.count }

func (h *hostList) Next() (server string, retryStart bool) {
	host := h.next
	h.next = (h.next + 1) % h.count
	if retryStart = host == h.last; retryStart {
		h.rounds++
	}
	if h.last < 0 {
		h.last = host
	}
	return library.HostName(host), retryStart
}

// firstHost satisfies zk.Connect, which requires a list even with a host provider.
var firstHost = library.HostName(0)

// A dialRequest is the client's attempt to connect to a server.
type dialRequest struct {
	host      int
	answer    chan *pipe
	goroutine int  // that waits; only of an [Endpoint]
	foreign   bool // code that is no patched client library asks; only of an [Endpoint]
}

// dial runs on a goroutine of the client. It waits until the cluster decides whether the server is
// reachable.
func (r *Conn) dial(_, address string, _ time.Duration) (net.Conn, error) {
	answer := make(chan *pipe, 1)
	host := 0
	for library.HostName(host) != address {
		host++
	}
	r.mu.Lock()
	if r.isTornDown.Load() {
		r.mu.Unlock()
		return nil, errors.New("real: the run is over")
	}
	r.dials = append(r.dials, dialRequest{host: host, answer: answer})
	r.mu.Unlock()
	r.notifyCluster()
	if p := <-answer; p != nil {
		return p, nil
	}
	return nil, errors.New("real: the link is down")
}

// answerDial answers the client's next dial request, and reports whether there was one.
func (r *Conn) answerDial() bool {
	r.mu.Lock()
	if len(r.dials) == 0 {
		r.mu.Unlock()
		return false
	}
	dial := r.dials[0]
	r.dials = r.dials[1:]
	r.mu.Unlock()
	c := r.cluster
	if !c.Dial(r.link, dial.host) {
		// An attempt takes time. Calls that the process makes meanwhile join the queue.
		r.recordQueueLength()
		r.phase, r.dialAt = library.Dialing, c.Now()+library.ReconnectDelay
		dial.answer <- nil
		return true
	}
	r.phase, r.keepalive.ReadDeadline = library.Connecting,
		c.Now()+library.HandshakeTimeout(c.SessionTimeout())
	r.pipe = newPipe(r.notifyCluster, r.link.RoundTrip)
	dial.answer <- r.pipe
	return true
}

func (r *Conn) advance() {
	if r.phase == library.Terminated || r.link.Crashed() {
		return
	}
	if r.pipe != nil && r.pipe.closedByClient() {
		// The client timed out, and may be dialing again already.
		r.cluster.ResetConnection(r.link)
	}
	r.redial()
}

// redial answers the client's dial requests until it pauses.
func (r *Conn) redial() {
	for r.answerDial() {
		r.settle()
		r.collect()
	}
}

// handshakeDone follows the client through the server's reply to the handshake.
func (r *Conn) handshakeDone(q *simzk.Exchange) {
	if q.Session == 0 {
		// The client abandons the connection and dials again; the server has closed it.
		r.dropConnection()
		r.redial()
		return
	}
	r.credentialsSent = 0
	r.nextCredential()
}

// observeAuth follows the first frames of a session: the client resends each credential and waits
// for the reply. If it sends anything else, it is closing, and the frames are those that waited.
func (r *Conn) observeAuth(batch []*simzk.Exchange) {
	if r.lastAuth == nil && len(batch) == 1 && batch[0].Op == wire.OpAuth {
		r.lastAuth = batch[0]
		return
	}
	r.authDone()
}

// authDone notes that the client has resent its credentials. Its pings begin.
func (r *Conn) authDone() {
	r.phase = library.Connected
	r.keepalive.StartPings(r.cluster.Now(), r.cluster.SessionTimeout(), r.link.RoundTrip())
	r.cluster.BeginPings(r.link)
}

// nextCredential lets the client send its next credential, or after the last one the requests that
// waited.
func (r *Conn) nextCredential() {
	r.lastAuth = nil
	if r.credentialsSent < r.credentials {
		r.phase = library.Authenticating
		r.keepalive.ArmReadDeadline(r.cluster.Now(), r.cluster.SessionTimeout())
	} else {
		r.authDone()
	}
	r.settle()
	r.collectFrames(true)
}

// disconnected follows the client through the loss of its connection.
func (r *Conn) disconnected() {
	if r.pipe == nil {
		return
	}
	r.dropConnection()
	r.failInFlight()
	r.redial()
}

// dropConnection closes the connection and lets the client notice.
func (r *Conn) dropConnection() {
	r.pipe.end()
	r.keepalive.PingsStopped = false
	r.pipe, r.phase, r.dialAt, r.keepalive.ReadDeadline = nil, library.Dialing,
		r.cluster.Now()+library.ReconnectDelay, 0
	r.settle()
	r.checkTerminated()
}

// checkTerminated notes whether the client, which has no connection, has terminated: a client that
// reconnects changes its state at once.
func (r *Conn) checkTerminated() {
	if r.state == zk.StateDisconnected {
		r.terminate()
	}
}
