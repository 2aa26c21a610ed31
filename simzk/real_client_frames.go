package simzk

import (
	"slices"

	"github.com/cespare/xxhash/v2"
	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/hash64"
	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// collect transmits the frames that the client has written.
func (r *RealConn) collect() { r.collectFrames(false) }

// collectFrames transmits the frames that the client has written, in an order that does not depend
// on the scheduling of goroutines. If queued is set, they come from the client's queue and keep its
// order.
func (r *RealConn) collectFrames(queued bool) {
	if r.link.Crashed() {
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
		r.cluster.ResetConnection(&r.link)
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
		sortSimultaneous(batch)
	}
	for _, q := range batch {
		r.send(q)
	}
}

// sortSimultaneous sorts requests that the client has sent at the same time.
func sortSimultaneous(batch []*request) {
	slices.SortStableFunc(batch, func(a, b *request) int {
		return compareSimultaneous(&a.Request, &b.Request)
	})
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
			sortSimultaneous(calls[start:end])
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

func (r *RealConn) send(q *request) {
	r.sentHash = hash64.Mix(r.sentHash, xxhash.Sum64String(q.Path)+uint64(rank(&q.Request)))
	r.cluster.Send(&r.link, q, r.sites.of(&q.Request))
	r.inFlight = append(r.inFlight, q)
}

func (r *RealConn) deliver(m message) {
	c := r.cluster
	r.receivedHash = hash64.Mix(r.receivedHash, m.hash())
	r.received(c.Now())
	r.forward(m)
	if r.pingsStopped && r.phase == connected {
		r.armReadDeadline(c.Now(), c.SessionTimeout())
	}
}

// forward writes a message from the server to the client's pipe.
func (r *RealConn) forward(m message) {
	r.buffer = r.cluster.encode(r.buffer[:0], m)
	if m.reply == nil {
		r.pipe.push(r.buffer)
		return
	}
	q := m.reply
	r.inFlight = slices.DeleteFunc(r.inFlight, func(other *request) bool { return other == q })
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

// failInFlight records that the requests in flight have an unknown outcome, as the client tells its
// callers.
func (r *RealConn) failInFlight() {
	for _, q := range r.inFlight {
		r.cluster.Record(&r.link, history.Event{
			Kind: history.Reply, Request: q.number, Op: operation.Verb(&q.Request), Path: q.Path,
			Err: zk.ErrConnectionClosed.Error(),
		})
		r.receivedHash = hash64.Mix(r.receivedHash, uint64(q.number))
	}
	r.inFlight = nil
}

// CanFailWrite reports whether [FailWrite] applies to a client: it is a real client with a
// connection.
func CanFailWrite(l *Link) bool {
	e, ok := l.End().(realEnd)
	return ok && e.conn.pipe != nil && !e.conn.pipe.failing() && !l.Crashed()
}

// FailWrite makes a real client's next write to its connection fail, even that of a ping, as on a
// host that has lost its route. The client then closes the connection.
func FailWrite(l *Link) { l.End().(realEnd).conn.pipe.failWrites() }
