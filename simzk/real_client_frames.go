package simzk

import (
	"slices"

	"github.com/cespare/xxhash/v2"
	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk/wire"
)

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

func (r *RealConn) send(q *request) {
	c := r.link.cluster
	r.link.lastRequest++
	q.number = r.link.lastRequest
	r.sentHash = mix(r.sentHash, xxhash.Sum64String(q.Path)+uint64(rank(q)))
	c.record(history.Event{
		At: c.now, Kind: history.Send, Process: r.link.process, Request: q.number,
		Op: q.verb(), Path: q.Path, Facts: c.sendFacts(q, r.sender(q)),
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
