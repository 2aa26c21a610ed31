package simzk

import (
	"cmp"
	"errors"
	"net"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A RealConn is go-zookeeper/zk's own client, unmodified, over in-memory connections. It runs its
// own goroutines, timers and buffers. The cluster decides when a frame from the client is served,
// when a frame for it is delivered, and whether it can connect.
//
// The client must run in a bubble of virtual time, and the program on one processor
// ([runtime.GOMAXPROCS]): after a lost connection, the client wakes the waiting callers and then
// fails the queued calls, so with a second processor a race decides which calls are queued.
type RealConn struct {
	link   Link
	zk     *zk.Conn
	events <-chan zk.Event

	isTornDown atomic.Bool
	// The run is over and the process done; see [Link.ShutDown].
	isShutDown  atomic.Bool
	activeCalls atomic.Int32 // calls that have not returned
	sites       callSites    // of the active calls

	mu            sync.Mutex
	dials         []dialRequest // by the client's goroutine
	sessionEvents []zk.Event    // not yet recorded in the history
	closeDone     chan struct{} // closed when the first Close returns; nil before Close

	// Only the cluster's caller uses the fields below.

	pipe   *pipe // nil without a connection
	phase  phase
	state  zk.State      // of the last session event
	dialAt time.Duration // time of the next connection attempt; only while dialing
	// accepted by the server; the client resends them on every connection
	credentials     int
	credentialsSent int      // on this connection; only while authenticating
	lastAuth        *request // last resent credential
	hosts           *hostList
	queueLengths    []int // increasing lengths of the client's queue; see recordQueueLength
	flushedRounds   int   // value of hosts.rounds at the last recordQueueLength
	inFlight        []*request
	receivedHash    uint64
	sentHash        uint64
	buffer          []byte

	keepalive
}

// ConnectReal adds a client that runs the real client library, and lets it open its session.
// Processes are numbered from 1 in the order of the calls. The cluster must have a Settle function.
func (c *Cluster) ConnectReal() (*RealConn, error) {
	c.hasRealClient = true
	host := len(c.links) % c.Servers()
	r := &RealConn{phase: dialing, hosts: newHosts(c.Servers(), host)}
	c.addLink(&r.link, int32(len(c.links)+1), host, loopback[0].ID)
	r.link.end, r.link.pings = r, true
	conn, events, err := zk.Connect([]string{firstHost}, c.config.SessionTimeout,
		zk.WithDialer(r.dial),
		zk.WithHostProvider(r.hosts), zk.WithLogger(silentLogger{}), zk.WithLogInfo(false),
		zk.WithEventCallback(r.onEvent),
		zk.WithMaxBufferSize(clientBuffer), zk.WithMaxConnBufferSize(clientBuffer))
	if err != nil {
		return nil, err
	}
	r.zk, r.events = conn, events
	r.open()
	if conn.State() != zk.StateHasSession {
		return nil, errors.New("simzk: the client did not open its session")
	}
	return r, nil
}

// clientBuffer is the size of the client's buffers. The default, three buffers of 1.5 MB for each
// connection, would cost more than the rest of a run.
const clientBuffer = 64 << 10

// open lets the client connect and open its session, as if that had happened before the run.
func (r *RealConn) open() {
	c := r.link.cluster
	log := c.history
	c.history = nil
	c.config.Settle()
	r.advance()
	r.collect()
	c.Serve(&r.link)
	c.replicateNow()
	c.Deliver(&r.link)
	c.history = log
	r.link.lastRequest, r.link.postedHash, r.receivedHash, r.sentHash = 0, 0, 0, 0
	c.record(history.Event{
		At: c.now, Kind: history.SessionOpened, Process: r.link.process,
		Session: r.zk.SessionID(), Zxid: c.zxid, Name: c.timeout,
	})
}

// Link returns the client's link.
func (r *RealConn) Link() *Link { return &r.link }

// Conn returns the client itself, for code that needs a *zk.Conn. A goroutine that uses it does not
// exit when its process crashes or the run ends: its calls block forever, or fail with
// zk.ErrConnectionClosed.
func (r *RealConn) Conn() *zk.Conn { return r.zk }

// Events returns the channel that zk.Connect returned.
func (r *RealConn) Events() <-chan zk.Event { return r.events }

// hostList is the client's list of servers. It iterates like the library's own, without shuffling
// or name resolution.
type hostList struct {
	count, next int
	last        int // of the last connection; -1 at first
	rounds      int // completed rounds; the client empties its queue after each
}

func newHosts(count, first int) *hostList { return &hostList{count: count, next: first, last: -1} }

func (h *hostList) Init([]string) error { return nil }
func (h *hostList) Len() int            { return h.count }
func (h *hostList) Connected()          { h.last = (h.next + h.count - 1) % h.count }

func (h *hostList) Next() (server string, retryStart bool) {
	host := h.next
	h.next = (h.next + 1) % h.count
	if retryStart = host == h.last; retryStart {
		h.rounds++
	}
	return hostName(host), retryStart
}

// firstHost satisfies zk.Connect, which requires a list even with a host provider.
var firstHost = hostName(0)

// hostName returns the client's address of a server.
func hostName(server int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(2181+server)) }

// A dialRequest is the client's attempt to connect to a server.
type dialRequest struct {
	host   int
	answer chan *pipe
}

type silentLogger struct{}

func (silentLogger) Printf(string, ...any) {}

// dial runs on a goroutine of the client. It waits until the cluster decides whether the server is
// reachable.
func (r *RealConn) dial(_, address string, _ time.Duration) (net.Conn, error) {
	answer := make(chan *pipe, 1)
	host := 0
	for hostName(host) != address {
		host++
	}
	r.mu.Lock()
	if r.isTornDown.Load() {
		r.mu.Unlock()
		return nil, errors.New("simzk: the run is over")
	}
	r.dials = append(r.dials, dialRequest{host, answer})
	r.mu.Unlock()
	r.notifyCluster()
	if p := <-answer; p != nil {
		return p, nil
	}
	return nil, errors.New("simzk: the link is down")
}

// notifyCluster is called by the client's goroutines when they act. It ignores a crashed process,
// which waits for the end of the run.
func (r *RealConn) notifyCluster() {
	if !r.link.Crashed() {
		r.link.Notify()
	}
}

// onEvent is called by the client's goroutines.
func (r *RealConn) onEvent(e zk.Event) {
	if e.Type != zk.EventSession && e.Type != zk.EventNotWatching {
		return // The history records watch events at their delivery.
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sessionEvents = append(r.sessionEvents, e)
}

// answerDial answers the client's next dial request, and reports whether there was one.
func (r *RealConn) answerDial() bool {
	r.mu.Lock()
	if len(r.dials) == 0 {
		r.mu.Unlock()
		return false
	}
	dial := r.dials[0]
	r.dials = r.dials[1:]
	r.mu.Unlock()
	c := r.link.cluster
	if !r.link.canReach(dial.host) {
		// An attempt takes time. Calls that the process makes meanwhile join the queue.
		r.recordQueueLength()
		r.phase, r.dialAt = dialing, c.now+reconnectDelay
		dial.answer <- nil
		return true
	}
	r.link.server = dial.host
	r.phase, r.readDeadline = connecting, c.now+handshakeTimeout(c.config.SessionTimeout)
	r.pipe = newPipe(r.notifyCluster)
	dial.answer <- r.pipe
	return true
}

func (r *RealConn) advance() {
	if r.phase == terminated || r.link.crashed.Load() {
		return
	}
	if r.pipe != nil && r.pipe.closedByClient() {
		// The client timed out, and may be dialing again already.
		r.link.cluster.closeConnection(&r.link)
	}
	r.redial()
}

// redial answers the client's dial requests until it pauses.
func (r *RealConn) redial() {
	for r.answerDial() {
		r.settle()
		r.collect()
	}
}

// settle lets the client settle and records its session events.
func (r *RealConn) settle() {
	r.link.cluster.config.Settle()
	r.recordEvents()
}

// recordEvents appends the client's new session events to the history.
func (r *RealConn) recordEvents() {
	r.mu.Lock()
	events := r.sessionEvents
	r.sessionEvents = nil
	r.mu.Unlock()
	// On expiry, the client iterates over a map of watches.
	for i := 0; i < len(events); i++ {
		j := i
		for j < len(events) && events[j].Type == zk.EventNotWatching {
			j++
		}
		slices.SortFunc(events[i:j],
			func(a, b zk.Event) int { return cmp.Compare(a.Path, b.Path) })
		i = max(i, j-1)
	}
	for _, e := range events {
		r.recordEvent(e)
	}
}

// recordEvent appends a session event to the history.
func (r *RealConn) recordEvent(e zk.Event) {
	c := r.link.cluster
	if e.Type == zk.EventNotWatching {
		c.record(history.Event{
			At: c.now, Kind: history.WatchEvent, Process: r.link.process, Path: e.Path,
			Name: eventName(eventNotWatching), Err: e.Err.Error(),
		})
		return
	}
	session := r.zk.SessionID()
	c.record(history.Event{
		At: c.now, Kind: history.SessionState, Process: r.link.process,
		Name: stateNames[e.State], Session: session,
	})
	r.receivedHash = mix(r.receivedHash, uint64(e.State))
	if e.State == zk.StateDisconnected {
		r.receivedHash = mix(r.receivedHash, uint64(c.now)) // As [Conn] does.
		r.failInFlight()
	}
	r.state = e.State
}

// stateNames are the names of session states in histories.
var stateNames = map[zk.State]string{
	zk.StateDisconnected: "disconnected", zk.StateConnecting: "connecting",
	zk.StateConnected:  "connected",
	zk.StateHasSession: "has-session", zk.StateExpired: "expired",
}

// failInFlight records that the requests in flight have an unknown outcome, as the client tells its
// callers.
func (r *RealConn) failInFlight() {
	c := r.link.cluster
	for _, q := range r.inFlight {
		c.record(history.Event{
			At: c.now, Kind: history.Reply, Process: r.link.process, Request: q.number,
			Op:   q.verb(),
			Path: q.Path, Err: zk.ErrConnectionClosed.Error(),
		})
		r.receivedHash = mix(r.receivedHash, uint64(q.number))
	}
	r.inFlight = nil
}

// collect transmits the frames that the client has written.
func (r *RealConn) collect() { r.collectFrames(false) }

// collectFrames transmits the frames that the client has written, in an order that does not depend
// on the scheduling of goroutines. If queued is set, they come from the client's queue and keep its
// order.
func (r *RealConn) collectFrames(queued bool) {
	if r.link.crashed.Load() {
		return
	}
	if r.phase != connected {
		r.recordQueueLength()
	}
	if r.pipe == nil {
		r.recordEvents()
		r.checkTerminated()
		return
	}
	frames, closed := r.pipe.take()
	if closed {
		r.link.cluster.closeConnection(&r.link)
		return
	}
	batch := make([]*request, 0, len(frames))
	for _, frame := range frames {
		q, err := parseFrame(frame, r.phase != connecting)
		if err != nil {
			panic(err) // The real client sends only well-formed frames.
		}
		if q.Watches != nil {
			sortWatches(q.Watches)
		}
		batch = append(batch, q)
	}
	if r.phase == authenticating && len(batch) > 0 {
		queued = true
		r.observeAuth(batch)
	}
	switch {
	case r.phase == authenticating:
	case queued:
		r.sortQueued(batch)
	case len(batch) > 1:
		slices.SortStableFunc(batch, compareSimultaneous)
	}
	for _, q := range batch {
		r.send(q)
	}
}

// recordQueueLength records the length of the client's queue. Without a connection, and while the
// client resends its credentials, every active call has one entry there.
func (r *RealConn) recordQueueLength() {
	if rounds := r.hosts.rounds; r.flushedRounds != rounds {
		r.flushedRounds, r.queueLengths = rounds, r.queueLengths[:0]
	}
	n, last := int(r.activeCalls.Load()), 0
	if len(r.queueLengths) > 0 {
		last = r.queueLengths[len(r.queueLengths)-1]
	}
	if n > last {
		r.queueLengths = append(r.queueLengths, n)
	}
}

// sortQueued sorts those of the queued requests that were queued at the same time. The client's own
// SetWatches keeps its place.
func (r *RealConn) sortQueued(batch []*request) {
	calls := slices.DeleteFunc(slices.Clone(batch), isSetWatches)
	start := 0
	for _, end := range append(r.queueLengths, len(calls)) {
		if end = min(end, len(calls)); end > start {
			slices.SortStableFunc(calls[start:end], compareSimultaneous)
			start = end
		}
	}
	r.queueLengths = r.queueLengths[:0]
	for i := range batch {
		if !isSetWatches(batch[i]) {
			batch[i], calls = calls[0], calls[1:]
		}
	}
}

func isSetWatches(q *request) bool { return q.Op == wire.OpSetWatches }

// observeAuth follows the first frames of a session: the client resends each credential and waits
// for the reply. If it sends anything else, it is closing, and the frames are those that waited.
func (r *RealConn) observeAuth(batch []*request) {
	if r.lastAuth == nil && len(batch) == 1 && batch[0].Op == wire.OpAuth {
		r.lastAuth = batch[0]
		return
	}
	r.authDone()
}

// authDone notes that the client has resent its credentials. Its pings begin.
func (r *RealConn) authDone() {
	r.phase = connected
	r.startPings(r.link.cluster.now, r.link.cluster.config.SessionTimeout)
	if r.link.session != nil {
		r.link.session.pingStart = r.link.cluster.now
	}
}

func (r *RealConn) send(q *request) {
	c := r.link.cluster
	r.link.lastRequest++
	q.number = r.link.lastRequest
	r.sentHash = mix(r.sentHash, xxhash.Sum64String(q.Path)+uint64(rank(q)))
	c.record(history.Event{
		At: c.now, Kind: history.Send, Process: r.link.process, Request: q.number,
		Op: q.verb(), Path: q.Path, Facts: c.sendFacts(q, r.sites.of(q)),
	})
	r.link.transmit(q)
	r.inFlight = append(r.inFlight, q)
}

func (r *RealConn) deliver(m message) {
	c := r.link.cluster
	r.receivedHash = mix(r.receivedHash, m.hash())
	r.received(c.now)
	r.forward(m)
	if r.pingsStopped && r.phase == connected {
		r.armReadDeadline(c.now, c.config.SessionTimeout)
	}
}

// forward writes a message from the server to the client's pipe.
func (r *RealConn) forward(m message) {
	c := r.link.cluster
	r.buffer = c.encode(r.buffer[:0], m)
	if m.reply == nil {
		for _, w := range m.watches {
			c.record(history.Event{
				At: c.now, Kind: history.WatchEvent, Process: r.link.process, Watch: w.number,
				Path: m.path,
				Name: eventName(m.event), Zxid: m.zxid,
			})
		}
		r.pipe.push(r.buffer)
		return
	}
	q := m.reply
	r.inFlight = slices.DeleteFunc(r.inFlight, func(other *request) bool { return other == q })
	c.record(history.Event{
		At: c.now, Kind: history.Reply, Process: r.link.process, Request: q.number, Op: q.verb(),
		Path: q.result.Path, Zxid: m.zxid, Err: q.result.Code.String(), Facts: c.replyFacts(q),
	})
	r.pipe.push(r.buffer)
	switch {
	case q.Op == wire.OpCreateSession:
		r.handshakeDone(q)
	case q.Op == wire.OpCloseSession:
		r.disconnected()
	case r.phase == authenticating:
		r.credentialsSent++
		r.nextCredential()
	case q.Op == wire.OpAuth && q != r.lastAuth && q.result.Code == wire.OK:
		r.credentials++
	}
}

// handshakeDone follows the client through the server's reply to the handshake.
func (r *RealConn) handshakeDone(q *request) {
	if q.session == 0 {
		// The client abandons the connection and dials again; the server has closed it.
		r.dropConnection()
		r.redial()
		return
	}
	r.credentialsSent = 0
	r.nextCredential()
}

// nextCredential lets the client send its next credential, or after the last one the requests that
// waited.
func (r *RealConn) nextCredential() {
	r.lastAuth = nil
	if r.credentialsSent < r.credentials {
		r.phase = authenticating
		r.armReadDeadline(r.link.cluster.now, r.link.cluster.config.SessionTimeout)
	} else {
		r.authDone()
	}
	r.settle()
	r.collectFrames(true)
}

// disconnected follows the client through the loss of its connection.
func (r *RealConn) disconnected() {
	if r.pipe == nil {
		return
	}
	r.dropConnection()
	r.failInFlight()
	r.redial()
}

// dropConnection closes the connection and lets the client notice.
func (r *RealConn) dropConnection() {
	r.pipe.end()
	r.pingsStopped = false
	r.pipe, r.phase, r.dialAt, r.readDeadline = nil, dialing, r.link.cluster.now+reconnectDelay, 0
	r.settle()
	r.checkTerminated()
}

// checkTerminated notes whether the client, which has no connection, has terminated: a client that
// reconnects changes its state at once.
func (r *RealConn) checkTerminated() {
	if r.state == zk.StateDisconnected {
		r.phase = terminated
	}
}

func (r *RealConn) connected() bool { return r.phase != dialing && r.phase != terminated }

func (r *RealConn) knownSession() int64 { return r.zk.SessionID() }

func (r *RealConn) pending() *wire.Request {
	for _, q := range r.inFlight {
		if q.Op != wire.OpCreateSession && q.Op != wire.OpSetWatches && q != r.lastAuth {
			return &q.Request
		}
	}
	return nil
}

func (r *RealConn) deadline() (time.Duration, bool) {
	if r.phase == dialing {
		return r.dialAt, true
	}
	return r.readDeadline, r.readDeadline > 0
}

func (r *RealConn) pingsStalled() {
	if r.pipe != nil {
		r.pipe.answerPings(false)
	}
	r.stopPings(r.phase == connected, r.link.cluster.now, r.link.cluster.config.SessionTimeout)
}

func (r *RealConn) pingsResumed() {
	if r.pipe != nil {
		r.pipe.answerPings(true)
		r.settle()
	}
	r.resumePings(r.phase == connected, r.link.cluster.now, r.link.cluster.config.SessionTimeout)
}

func (r *RealConn) key() uint64 {
	key := mix(mix(r.receivedHash, r.sentHash), uint64(r.phase))
	switch {
	case r.phase == dialing:
		key = mix(key, uint64(r.dialAt-r.link.cluster.now))
	case r.phase != connecting && r.readDeadline > 0:
		key = mix(key, uint64(r.readDeadline-r.link.cluster.now))
	}
	return key
}

// tearDown closes the client. Waiting calls get zk.ErrConnectionClosed, and the methods of RealConn
// end their goroutine.
func (r *RealConn) tearDown() {
	r.mu.Lock()
	r.isTornDown.Store(true)
	dials := r.dials
	r.dials = nil
	r.mu.Unlock()
	for _, dial := range dials {
		dial.answer <- nil
	}
	if r.pipe != nil {
		r.pipe.end()
	}
	r.phase = terminated
	go r.closeOnce()
}

// shutDown closes the client. Waiting calls get zk.ErrConnectionClosed.
func (r *RealConn) shutDown() {
	r.isShutDown.Store(true)
	r.tearDown()
}

// closeOnce closes the client, or waits until another goroutine has. In the client itself a second
// Close would block on a mutex, which does not count as durably blocked in a bubble.
func (r *RealConn) closeOnce() {
	r.mu.Lock()
	quits, first := r.closeDone, r.closeDone == nil
	if first {
		quits = make(chan struct{})
		r.closeDone = quits
	}
	r.mu.Unlock()
	if !first {
		<-quits
		return
	}
	defer close(quits)
	r.zk.Close()
}

// beginCall begins a call. It notifies the cluster itself, as a call that the client queues writes
// nothing to a connection.
func (r *RealConn) beginCall() {
	if r.exitIfDone(); r.isShutDown.Load() {
		r.link.countCallAfterShutDown()
	}
	r.activeCalls.Add(1)
	if r.link.cluster.gathersFacts() {
		r.sites.begin()
	}
	r.link.Notify()
}

// endCall ends a call.
func (r *RealConn) endCall() {
	r.activeCalls.Add(-1)
	if r.link.cluster.gathersFacts() {
		r.sites.end()
	}
	r.exitIfDone()
}

// exitIfDone ends the goroutine if its process has crashed or the run is torn down.
func (r *RealConn) exitIfDone() {
	switch {
	case r.isShutDown.Load():
	case r.isTornDown.Load() || r.link.crashed.Load():
		runtime.Goexit()
	}
}
