package tcp

import (
	"encoding/binary"
	"time"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// A metrics is what the words cons and stat tell of a connection. It is read off the frames.
type metrics struct {
	received, sent int
	greeted        bool // the handshake has been answered
	session        int64
	timeout        time.Duration // of the session; 0 before the handshake
	heard          time.Time     // when the latest frame arrived

	operation string // the name of the latest request that was answered
	xid       int32  // of the latest request but pings and the like; -1 of none
	zxid      int64  // in the latest reply; -1 of none
	replied   time.Time
	latency   latency

	// The request that is being served.
	asked   wire.Op
	arrived time.Time
}

// noOperation is the name of the latest request where there is none.
const noOperation = "NA"

func newMetrics() metrics {
	return metrics{operation: noOperation, xid: -1, zxid: -1}
}

// reset forgets what was counted, for the word crst.
func (t *metrics) reset() {
	fresh := newMetrics()
	fresh.greeted, fresh.session, fresh.timeout, fresh.heard = t.greeted, t.session, t.timeout,
		t.heard
	fresh.asked, fresh.arrived = t.asked, t.arrived
	*t = fresh
}

// asked counts a frame of the client. The caller holds the lock.
func (c *connection) asked(frame []byte, arrived time.Time) {
	t := &c.metrics
	t.received++
	t.heard, t.arrived, t.asked = arrived, arrived, wire.OpCreateSession
	if t.greeted && len(frame) >= 8 {
		t.asked = wire.Op(binary.BigEndian.Uint32(frame[4:]))
	}
	c.member.statistics.received++
	c.member.statistics.bytes += int64(len(frame)) + 4
}

// The places in the frame of a reply, its length included.
const (
	xidAt   = 4
	zxidAt  = 8
	replyAt = 16 // where a reply's header ends but for its code
)

// answered counts a frame to the client, a reply to the request that is being served or an event.
// The caller holds the lock.
func (c *connection) answered(frame []byte) {
	t := &c.metrics
	t.sent++
	c.member.statistics.sent++
	switch {
	case !t.greeted:
		t.greet(frame)
	case len(frame) < replyAt || int32(binary.BigEndian.Uint32(frame[xidAt:])) == wire.XidEvent:
		return
	default:
		t.zxid = int64(binary.BigEndian.Uint64(frame[zxidAt:]))
		if xid := int32(binary.BigEndian.Uint32(frame[xidAt:])); xid >= 0 {
			t.xid = xid
		}
	}
	t.operation, t.replied = operationName(t.asked), time.Now()
	elapsed := t.replied.Sub(t.arrived)
	t.latency.add(elapsed)
	c.member.statistics.latency.add(elapsed)
}

// greet takes the session from the answer to the handshake.
func (t *metrics) greet(frame []byte) {
	t.greeted = true
	var response wire.ConnectResponse
	if wire.DecodeConnectResponse(frame[4:], &response) == nil {
		t.session = response.SessionID
		t.timeout = time.Duration(response.TimeoutMillis) * time.Millisecond
	}
}

// operationName is what ZooKeeper calls a type of request in the answer to the word cons
// (FinalRequestProcessor).
func operationName(op wire.Op) string {
	switch op {
	case wire.OpPing:
		return "PING"
	case wire.OpCreateSession:
		return "SESS"
	case wire.OpCloseSession:
		return "CLOS"
	case wire.OpMulti:
		return "MULT"
	case wire.OpMultiRead:
		return "MLTR"
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		return "CREA"
	case wire.OpDelete:
		return "DELE"
	case wire.OpSetData:
		return "SETD"
	case wire.OpReconfig:
		return "RECO"
	case wire.OpSetACL:
		return "SETA"
	case wire.OpSync:
		return "SYNC"
	case wire.OpCheck:
		return "CHEC"
	case wire.OpExists:
		return "EXIS"
	case wire.OpGetData:
		return "GETD"
	case wire.OpGetACL:
		return "GETA"
	}
	return otherOperationName(op)
}

func otherOperationName(op wire.Op) string {
	switch op {
	case wire.OpSetWatches:
		return "SETW"
	case wire.OpSetWatches2:
		return "STW2"
	case wire.OpAddWatch:
		return "ADDW"
	case wire.OpGetChildren, wire.OpGetChildren2:
		return "GETC"
	case wire.OpGetAllChildrenNumber:
		return "GETACN"
	case wire.OpCheckWatches:
		return "CHKW"
	case wire.OpRemoveWatches:
		return "REMW"
	case wire.OpWhoAmI:
		return "HOMI"
	case wire.OpGetEphemerals:
		return "GETE"
	}
	return noOperation
}
