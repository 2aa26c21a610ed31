package real

import (
	"cmp"
	"slices"

	"github.com/cespare/xxhash/v2"
	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/internal/run/scheduler"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client/internal/library"
	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// collect transmits the frames that the client has written.
func (r *Conn) collect() { r.collectFrames(false) }

// collectFrames transmits the frames that the client has written, in an order that does not depend
// on the scheduling of goroutines. If queued is set, they come from the client's queue and keep its
// order.
func (r *Conn) collectFrames(queued bool) {
	if r.link.Crashed() {
		return
	}
	if r.phase != library.Connected {
		r.recordQueueLength()
	}
	if r.pipe == nil {
		r.recordEvents()
		r.checkTerminated()
		return
	}
	frames, closed := r.pipe.take()
	if closed {
		r.cluster.ResetConnection(r.link)
		return
	}
	batch := make([]*simzk.Exchange, 0, len(frames))
	for _, frame := range frames {
		q, err := simzk.ParseFrame(frame, r.phase != library.Connecting)
		if err != nil {
			panic(err) // The real client sends only well-formed frames.
		}
		if q.Watches != nil {
			library.SortWatches(q.Watches)
		}
		q.Thread = r.threads.maker(q)
		batch = append(batch, q)
	}
	if r.phase == library.Authenticating && len(batch) > 0 {
		queued = true
		r.observeAuth(batch)
	}
	switch {
	case r.phase == library.Authenticating:
	case queued:
		r.sortQueued(batch)
	case len(batch) > 1:
		sortSimultaneous(batch)
	}
	for _, q := range batch {
		r.send(q)
	}
}

// sortSimultaneous sorts requests that the client has sent at the same time, unless the schedule
// decides their order.
func sortSimultaneous(batch []*simzk.Exchange) {
	if scheduler.Enabled {
		return
	}
	slices.SortStableFunc(batch, func(a, b *simzk.Exchange) int {
		return cmp.Or(library.CompareSimultaneous(&a.Request, &b.Request),
			cmp.Compare(a.Thread, b.Thread))
	})
}

// recordQueueLength records the length of the client's queue. Without a connection, and while the
// client resends its credentials, every active call has one entry there.
func (r *Conn) recordQueueLength() {
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
func (r *Conn) sortQueued(batch []*simzk.Exchange) {
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

func isSetWatches(q *simzk.Exchange) bool { return q.Op == wire.OpSetWatches }

func (r *Conn) send(q *simzk.Exchange) {
	r.sentHash = hashSent(r.sentHash, q)
	r.cluster.Send(r.link, q, r.sender(&q.Request))
	r.inFlight = append(r.inFlight, q)
}

func (r *Conn) deliver(m simzk.Message) {
	c := r.cluster
	r.receivedHash = hashReceived(r.receivedHash, m)
	r.keepalive.Received(c.Now())
	r.forward(m)
	if r.keepalive.PingsStopped && r.phase == library.Connected {
		r.keepalive.ArmReadDeadline(c.Now(), c.SessionTimeout())
	}
}

// forward writes a message from the server to the client's pipe.
func (r *Conn) forward(m simzk.Message) {
	r.buffer = r.cluster.AppendFrame(r.buffer[:0], m)
	if m.Reply == nil {
		r.pipe.push(r.buffer)
		return
	}
	q := m.Reply
	r.inFlight = slices.DeleteFunc(r.inFlight,
		func(other *simzk.Exchange) bool { return other == q })
	r.threads.answered(q)
	r.pipe.push(r.buffer)
	switch {
	case q.Op == wire.OpCreateSession:
		r.handshakeDone(q)
	case q.Op == wire.OpCloseSession:
		r.disconnected()
	case r.phase == library.Authenticating:
		r.credentialsSent++
		r.nextCredential()
	case q.Op == wire.OpAuth && q != r.lastAuth && q.Result.Code == wire.OK:
		r.credentials++
	}
}

// failInFlight records that the requests in flight have an unknown outcome, as the client tells its
// callers.
func (r *Conn) failInFlight() {
	for _, q := range r.inFlight {
		r.threads.answered(q)
		r.receivedHash = recordUnanswered(r.cluster, r.link, q, r.receivedHash)
	}
	r.inFlight = nil
}

// recordUnanswered records that a request in flight has an unknown outcome. It adds that to the
// hash of what the client has received.
func recordUnanswered(c *simzk.Cluster, l *simzk.Link, q *simzk.Exchange, hash uint64) uint64 {
	c.Record(l, history.Event{
		Kind: history.Reply, Request: q.Number, Op: operation.Verb(&q.Request), Path: q.Path,
		Err: zk.ErrConnectionClosed.Error(),
	})
	return hash64.Mix(hash, uint64(q.Number))
}

// hashSent adds a request to the hash of what the client has sent.
func hashSent(hash uint64, q *simzk.Exchange) uint64 {
	return hash64.Mix(hash, xxhash.Sum64String(q.Path)+uint64(library.Rank(&q.Request))+
		uint64(q.Thread)<<32)
}

// hashReceived adds a message to the hash of what the client has received.
func hashReceived(hash uint64, m simzk.Message) uint64 { return hash64.Mix(hash, m.Hash()) }

// CanFailWrite reports whether [FailWrite] applies to a client: it is a real client with a
// connection.
func CanFailWrite(l *simzk.Link) bool {
	e, ok := l.End().(connected)
	return ok && e.connection() != nil && !e.connection().failing() && !l.Crashed()
}

// connected is the end of a link of a client library.
type connected interface{ connection() *pipe }

// FailWrite makes a real client's next write to its connection fail, even that of a ping, as on a
// host that has lost its route. The client then closes the connection.
func FailWrite(l *simzk.Link) { l.End().(connected).connection().failWrites() }
