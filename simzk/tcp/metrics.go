package tcp

import (
	"encoding/binary"
	"slices"
	"time"

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

	greeted bool          // whether the handshake has arrived
	open    []openRequest // the oldest first
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
	fresh.greeted, fresh.open = m.greeted, m.open
	*m = fresh
}

// countRequest counts a frame from the client. The caller holds the lock.
func (c *connection) countRequest(frame []byte, arrived time.Time) {
	m := &c.metrics
	m.received++
	m.lastReceived = arrived
	m.open = append(m.open, c.newRequest(frame, arrived, m.greeted))
	m.greeted = true
	c.member.statistics.received++
	c.member.statistics.bytes += int64(len(frame)) + 4
}

// Offsets in the frame of a reply, including its length field.
const (
	xidAt  = 4
	zxidAt = 8
	codeAt = 16 // the code is the last field of the header
)

// countReply counts a frame to the client: the reply to its oldest open request, or an event. The
// caller holds the lock.
func (c *connection) countReply(frame []byte) {
	m := &c.metrics
	m.sent++
	c.member.statistics.sent++
	result, zxid := wire.OK, int64(0)
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
		zxid = m.zxid
		if len(frame) >= codeAt+4 {
			result = wire.Code(int32(binary.BigEndian.Uint32(frame[codeAt:])))
		}
	}
	if len(m.open) == 0 {
		return
	}
	r := m.open[0]
	m.open = slices.Delete(m.open, 0, 1)
	m.operation, m.lastReplied = operationName(r.op), time.Now()
	elapsed := m.lastReplied.Sub(r.arrived)
	m.latency.add(elapsed)
	c.member.statistics.latency.add(elapsed)
	c.report(&r, result.String(), zxid)
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
