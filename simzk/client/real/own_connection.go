package real

import (
	"fmt"
	"slices"
	"time"

	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client/internal/library"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// An ownConnection is a connection of a process that opens its clients itself, with its link. After
// the end of the connection it holds the next one. Only the cluster's caller uses it.
type ownConnection struct {
	of   *Endpoint
	link simzk.Link

	pipe         *pipe // nil without a connection
	isGreeted    bool  // the connection's handshake has been sent
	session      int64 // of the last handshake
	redialAt     time.Duration
	inFlight     []*simzk.Exchange
	receivedHash uint64
	sentHash     uint64
}

func (o *ownConnection) isFree() bool { return o.pipe == nil }

// disconnected closes the connection and lets the client notice.
func (o *ownConnection) disconnected() {
	if o.pipe == nil {
		return
	}
	cluster := o.of.cluster
	o.pipe.end()
	o.pipe, o.redialAt = nil, cluster.Now()+library.ReconnectDelay
	for _, q := range o.inFlight {
		o.receivedHash = recordUnanswered(cluster, &o.link, q, o.receivedHash)
	}
	o.inFlight = nil
	cluster.Settle()
}

// collect transmits the frames that the client has written.
func (o *ownConnection) collect() {
	if o.pipe == nil || o.link.Crashed() {
		return
	}
	cluster := o.of.cluster
	frames, closed := o.pipe.take()
	if closed {
		cluster.ResetConnection(&o.link)
		return
	}
	batch := make([]*simzk.Exchange, 0, len(frames))
	for _, frame := range frames {
		q, err := simzk.ParseFrame(frame, o.isGreeted)
		if err != nil {
			panic(fmt.Sprintf("interlock: c%d sends what no server can read: %v",
				o.link.Process(), err))
		}
		o.isGreeted = true
		if q.Watches != nil {
			library.SortWatches(q.Watches)
		}
		batch = append(batch, q)
	}
	sortCalls(batch)
	for _, q := range batch {
		o.sentHash = hashSent(o.sentHash, q)
		if len(o.of.connections) > 1 { // Which client holds the connection is no longer certain.
			o.sentHash = hash64.Mix(o.sentHash, uint64(q.Session))
		}
		cluster.Send(&o.link, q, senderOnStacks(cluster, &o.link, &q.Request))
		o.inFlight = append(o.inFlight, q)
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
func (o *ownConnection) deliver(m simzk.Message) {
	cluster := o.of.cluster
	o.receivedHash = hashReceived(o.receivedHash, m)
	o.of.buffer = cluster.AppendFrame(o.of.buffer[:0], m)
	o.pipe.push(o.of.buffer)
	q := m.Reply
	if q == nil {
		return
	}
	o.inFlight = slices.DeleteFunc(o.inFlight,
		func(other *simzk.Exchange) bool { return other == q })
	switch {
	case q.Op == wire.OpCreateSession:
		if o.session = q.Session; q.Session == 0 {
			o.disconnected() // The server has closed the connection.
			return
		}
		cluster.BeginPings(&o.link)
	case q.Op == wire.OpCloseSession:
		o.disconnected()
	}
}

// answerPings sets whether pings are answered from now on.
func (o *ownConnection) answerPings(answer bool) {
	if o.pipe == nil {
		return
	}
	if o.pipe.answerPings(answer); answer {
		o.of.cluster.Settle()
	}
}
