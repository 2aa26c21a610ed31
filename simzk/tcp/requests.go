package tcp

import (
	"cmp"
	"encoding/binary"
	"time"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A Request is a request of a client and what became of it.
type Request struct {
	At      time.Time     // when the member read it
	Took    time.Duration // until it was answered
	Server  int           // the member's id
	Session int64         // 0 before the client has one
	Request string        // the operation, and the path if it has one
	Result  string        // the error code, or NoReply
	Zxid    int64         // of the reply, 0 without one
}

// NoReply is the result of a request that the member does not answer.
const NoReply = "no reply"

// An openRequest is a request that a member has read and not answered.
type openRequest struct {
	op      wire.Op
	text    string // "" unless requests are reported
	arrived time.Time
}

// newRequest describes a frame. The first frame of a connection is a handshake.
func (c *connection) newRequest(frame []byte, arrived time.Time, greeted bool) openRequest {
	r := openRequest{op: wire.OpCreateSession, arrived: arrived}
	if greeted && len(frame) >= 8 {
		r.op = wire.Op(binary.BigEndian.Uint32(frame[4:]))
	}
	if c.member.server.config.Requests != nil && r.op != wire.OpPing {
		if parsed, err := simzk.ParseFrame(frame, greeted); err == nil {
			r.text = cmp.Or(simzk.DescribeRequest(&parsed.Request), operationName(r.op))
		}
	}
	return r
}

// report reports a request that has been answered, or will not be. The caller holds the lock.
func (c *connection) report(r *openRequest, result string, zxid int64) {
	if r.text == "" {
		return
	}
	c.member.server.config.Requests(Request{
		At: r.arrived, Took: time.Since(r.arrived), Server: c.member.id(),
		Session: c.metrics.session, Request: r.text, Result: result, Zxid: zxid,
	})
}

// reportUnanswered reports the requests that a closed connection leaves unanswered. The caller
// holds the lock.
func (c *connection) reportUnanswered() {
	for i := range c.metrics.open {
		c.report(&c.metrics.open[i], NoReply, 0)
	}
	c.metrics.open = nil
}

// operationName returns ZooKeeper's name of a type of request in the output of cons
// (FinalRequestProcessor).
func operationName(op wire.Op) string { return cmp.Or(operation.Of(op).Cons, noOperation) }
