package tcp

import (
	"cmp"
	"encoding/binary"
	"time"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// metrics are the statistics of a connection that cons and stat report. They are derived from the
// frames.
type metrics struct {
	received, sent int
	connected      bool // whether the handshake was answered
	session        int64
	timeout        time.Duration // of the session; 0 before the handshake
	lastReceived   time.Time     // time of the latest frame from the client

	operation   string // name of the latest answered request
	xid         int32  // of the latest request with a positive xid; -1 if none
	zxid        int64  // of the latest reply; -1 if none
	lastReplied time.Time
	latency     latency

	// The request being served.
	op      wire.Op
	arrived time.Time
}

// noOperation is the operation name before the first request.
const noOperation = "NA"

func newMetrics() metrics {
	return metrics{operation: noOperation, xid: -1, zxid: -1}
}

// reset resets the counters, for the four-letter word crst.
func (m *metrics) reset() {
	fresh := newMetrics()
	fresh.connected, fresh.session, fresh.timeout, fresh.lastReceived = m.connected, m.session,
		m.timeout,
		m.lastReceived
	fresh.op, fresh.arrived = m.op, m.arrived
	*m = fresh
}

// countRequest counts a frame from the client. The caller holds the lock.
func (c *connection) countRequest(frame []byte, arrived time.Time) {
	m := &c.metrics
	m.received++
	m.lastReceived, m.arrived, m.op = arrived, arrived, wire.OpCreateSession
	if m.connected && len(frame) >= 8 {
		m.op = wire.Op(binary.BigEndian.Uint32(frame[4:]))
	}
	c.member.statistics.received++
	c.member.statistics.bytes += int64(len(frame)) + 4
}

// Offsets in the frame of a reply, including its length field.
const (
	xidAt  = 4
	zxidAt = 8
	codeAt = 16 // the code is the last field of the header
)

// countReply counts a frame to the client: the reply to the request being served, or an event. The
// caller holds the lock.
func (c *connection) countReply(frame []byte) {
	m := &c.metrics
	m.sent++
	c.member.statistics.sent++
	switch {
	case !m.connected:
		m.recordSession(frame)
	case len(frame) < codeAt || int32(binary.BigEndian.Uint32(frame[xidAt:])) == wire.XidEvent:
		return
	default:
		m.zxid = int64(binary.BigEndian.Uint64(frame[zxidAt:]))
		if xid := int32(binary.BigEndian.Uint32(frame[xidAt:])); xid >= 0 {
			m.xid = xid
		}
	}
	m.operation, m.lastReplied = operationName(m.op), time.Now()
	elapsed := m.lastReplied.Sub(m.arrived)
	m.latency.add(elapsed)
	c.member.statistics.latency.add(elapsed)
}

// recordSession records the session from the response to the handshake.
func (m *metrics) recordSession(frame []byte) {
	m.connected = true
	var response wire.ConnectResponse
	if wire.DecodeConnectResponse(frame[4:], &response) == nil {
		m.session = response.SessionID
		m.timeout = time.Duration(response.TimeoutMillis) * time.Millisecond
	}
}

// operationName returns ZooKeeper's name of a type of request in the output of cons
// (FinalRequestProcessor).
func operationName(op wire.Op) string { return cmp.Or(operation.Of(op).Cons, noOperation) }
