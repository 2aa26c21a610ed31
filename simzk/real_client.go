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

// A RealConn is go-zookeeper/zk's own client, unmodified, over connections in memory. Its
// goroutines, timers and buffers are its own; what is decided is when a frame that it has sent is
// served, when one for it is delivered, and whether it can connect.
//
// The client must run in a bubble of virtual time, and the program on one processor
// ([runtime.GOMAXPROCS]): after a connection is lost, the client wakes whoever waits for an answer
// and then fails what is queued, and with a second processor it is a matter of luck which call
// counts as queued.
type RealConn struct {
	link   Link
	zk     *zk.Conn
	events <-chan zk.Event

	isTornDown atomic.Bool // the run is torn down
	// the run is over, and the process needs the client no more; see [Link.ShutDown]
	isShutDown  atomic.Bool
	activeCalls atomic.Int32 // how many calls the client has not returned from

	mu            sync.Mutex
	dials         []dialRequest // of the client's goroutine that wants a connection
	sessionEvents []zk.Event    // that the client has told and the history not yet
	closeDone     chan struct{} // closed when the first Close returns; nil until Close is called

	// All below is for the cluster's caller alone.

	pipe            *pipe // nil while there is no connection
	phase           phase
	state           zk.State      // as the client has last told it
	dialAt          time.Duration // when the client tries to connect; only while phase is dialing
	credentials     int           // how many the client has that it tells every new connection
	credentialsSent int           // how many of them it has told this one; only while phase is proving
	lastAuth        *request      // with which it has told the last one
	hosts           *hostList
	queueLengths    []int // how many calls were in the client's queue each time that somebody looked
	flushedRounds   int   // how often the client had emptied its queue by then
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
	conn, told, err := zk.Connect([]string{firstHost}, c.config.SessionTimeout,
		zk.WithDialer(r.dial),
		zk.WithHostProvider(r.hosts), zk.WithLogger(silentLogger{}), zk.WithLogInfo(false),
		zk.WithEventCallback(r.onEvent),
		zk.WithMaxBufferSize(clientBuffer), zk.WithMaxConnBufferSize(clientBuffer))
	if err != nil {
		return nil, err
	}
	r.zk, r.events = conn, told
	r.open()
	if conn.State() != zk.StateHasSession {
		return nil, errors.New("simzk: the client did not open its session")
	}
	return r, nil
}

// clientBuffer is the size of the client's buffers. Its default of 1.5 MB, three times for each
// connection, would cost more than the rest of a run.
const clientBuffer = 64 << 10

// open lets the client connect and open its session, as if it had happened before the run.
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

// Conn returns the client itself, for code that asks for a *zk.Conn. A goroutine that uses it does
// not end by itself when its process crashes or the run is over: its calls wait for good, or fail
// with zk.ErrConnectionClosed.
func (r *RealConn) Conn() *zk.Conn { return r.zk }

// Events returns the channel that zk.Connect has returned.
func (r *RealConn) Events() <-chan zk.Event { return r.events }

// hostList is the client's list of servers. It goes round the list as the library's own does, but
// neither shuffles it nor looks up names.
type hostList struct {
	count, next int
	last        int // with which there was last a connection; none at first
	rounds      int // how often the client has come round. It empties its queue each time.
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

// firstHost satisfies zk.Connect, which wants a list although the hosts are given otherwise.
var firstHost = hostName(0)

// hostName is the address under which the client knows a server.
func hostName(server int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(2181+server)) }

// A dialRequest is the client's wish for a connection to a server.
type dialRequest struct {
	host   int
	answer chan *pipe
}

type silentLogger struct{}

func (silentLogger) Printf(string, ...any) {}

// dial is called by a goroutine of the client. It waits for the cluster to say whether the server
// can be reached.
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

// notifyCluster is called by the client's goroutines when they want something. Nobody looks at what a
// crashed process does: it waits for the end of the run.
func (r *RealConn) notifyCluster() {
	if !r.link.Crashed() {
		r.link.Notify()
	}
}

// onEvent is called by the client's goroutines.
func (r *RealConn) onEvent(e zk.Event) {
	if e.Type != zk.EventSession && e.Type != zk.EventNotWatching {
		return // The history knows of watch events from their delivery.
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sessionEvents = append(r.sessionEvents, e)
}

// answerDial answers the client's wish for a connection, and reports whether there was one.
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
		// Such a try takes time, in which the process calls, and its calls wait with the others.
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
		// It gave up waiting, and may want another connection already.
		r.link.cluster.closeConnection(&r.link)
	}
	r.redial()
}

// redial lets the client go on along its list for as long as it does not pause.
func (r *RealConn) redial() {
	for r.answerDial() {
		r.settle()
		r.collect()
	}
}

// settle lets the client come to rest and notes what it has told.
func (r *RealConn) settle() {
	r.link.cluster.config.Settle()
	r.recordEvents()
}

// recordEvents puts into the history what the client has told.
func (r *RealConn) recordEvents() {
	r.mu.Lock()
	happens := r.sessionEvents
	r.sessionEvents = nil
	r.mu.Unlock()
	// The watches that an expiry ends are told in the order of a map.
	for i := 0; i < len(happens); i++ {
		j := i
		for j < len(happens) && happens[j].Type == zk.EventNotWatching {
			j++
		}
		slices.SortFunc(happens[i:j],
			func(a, b zk.Event) int { return cmp.Compare(a.Path, b.Path) })
		i = max(i, j-1)
	}
	for _, e := range happens {
		r.recordEvent(e)
	}
}

// recordEvent puts into the history what the client has told.
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
		r.receivedHash = mix(r.receivedHash, uint64(c.now)) // As the modelled client does.
		r.failInFlight()
	}
	r.state = e.State
}

// stateNames are the names of the session's states, as a history shows them.
var stateNames = map[zk.State]string{
	zk.StateDisconnected: "disconnected", zk.StateConnecting: "connecting",
	zk.StateConnected:  "connected",
	zk.StateHasSession: "has-session", zk.StateExpired: "expired",
}

// failInFlight notes that what was in flight has an unknown outcome: so the client has told its
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

// collect puts the frames that the client has written on their way to the server.
func (r *RealConn) collect() { r.collectFrames(false) }

// collectFrames puts the frames that the client has written on their way to the server, in an order that
// does not depend on which goroutine came first. What was queued keeps its place otherwise.
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
			panic(err) // The real client sends nothing that cannot be read.
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

// recordQueueLength notes how many calls are in the client's queue. Each of those that it has not returned from
// has one there while there is no connection, and while the client sends its credentials again.
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

// sortQueued sorts those of the requests from the client's queue that came into it at the same
// time. The client's own wish for its watches keeps its place.
func (r *RealConn) sortQueued(batch []*request) {
	calls := slices.DeleteFunc(slices.Clone(batch), isSetWatches)
	begin := 0
	for _, end := range append(r.queueLengths, len(calls)) {
		if end = min(end, len(calls)); end > begin {
			slices.SortStableFunc(calls[begin:end], compareSimultaneous)
			begin = end
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

// observeAuth follows the client through what it does first with a new session: it sends each of its
// credentials again and waits for the answer. Anything else it sends is what has waited meanwhile,
// from a client that closes.
func (r *RealConn) observeAuth(batch []*request) {
	if r.lastAuth == nil && len(batch) == 1 && batch[0].Op == wire.OpAuth {
		r.lastAuth = batch[0]
		return
	}
	r.authDone()
}

// authDone notes that the client has done with its credentials. Its pings begin.
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
		Op: q.verb(), Path: q.Path,
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

// forward hands the client what the server has sent.
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
		Path: q.result.Path, Zxid: m.zxid, Err: q.result.Code.String(),
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

// handshakeDone follows the client through the server's answer to its wish for its session.
func (r *RealConn) handshakeDone(q *request) {
	if q.session == 0 {
		// The client leaves the connection as it is and dials anew; the server has closed it by
		// then.
		r.dropConnection()
		r.redial()
		return
	}
	r.credentialsSent = 0
	r.nextCredential()
}

// nextCredential lets the client send the next of its credentials, or what has waited for that.
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

// dropConnection ends the connection and lets the client find out.
func (r *RealConn) dropConnection() {
	r.pipe.end()
	r.pingsStopped = false
	r.pipe, r.phase, r.dialAt, r.readDeadline = nil, dialing, r.link.cluster.now+reconnectDelay, 0
	r.settle()
	r.checkTerminated()
}

// checkTerminated notes whether the client, which has no connection, has come to its end: one that tries again
// says so at once.
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

// tearDown makes the client close. Whoever waits for an answer gets zk.ErrConnectionClosed, and
// ends if it was asked for by a method of RealConn.
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

// shutDown makes the client close. Whoever waits for an answer gets zk.ErrConnectionClosed.
func (r *RealConn) shutDown() {
	r.isShutDown.Store(true)
	r.tearDown()
}

// closeOnce closes the client, or waits until somebody else has. The client itself would let a second
// Close wait for a mutex, which no bubble takes for a reason to let time pass.
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

// beginCall begins a call. What the client queues shows on no wire, so the call itself is what a
// caller that lets time pass gets to know of.
func (r *RealConn) beginCall() {
	if r.exitIfDone(); r.isShutDown.Load() {
		r.link.countCallAfterShutDown()
	}
	r.activeCalls.Add(1)
	r.link.Notify()
}

// endCall ends a call.
func (r *RealConn) endCall() {
	r.activeCalls.Add(-1)
	r.exitIfDone()
}

// exitIfDone ends the goroutine if its process has crashed or the run is over.
func (r *RealConn) exitIfDone() {
	switch {
	case r.isShutDown.Load():
	case r.isTornDown.Load() || r.link.crashed.Load():
		runtime.Goexit()
	}
}
