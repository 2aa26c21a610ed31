package simzk

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// Serve makes the server handle the oldest request from the client: it commits the change, queues
// the watch events that the change triggers, and then the reply. It panics if there is no request;
// see [Link.Servable].
func (c *Cluster) Serve(l *Link) {
	r := l.toServer[0]
	l.toServer = slices.Delete(l.toServer, 0, 1)
	// ZooKeeper answers auth and sasl before the request reaches the sessions.
	touches := r.Op != wire.OpAuth && r.Op != wire.OpSASL
	if s := l.session; touches && s != nil && (s.link == l || l.crashed.Load()) {
		c.touchSession(s, l)
	}
	switch {
	case r.Op == wire.OpCreateSession && !r.reopens:
		c.serveConnect(l, r)
	case l.session == nil:
		// An earlier request closed the session, or it has expired: the server does not reply.
	case r.Op == wire.OpCreateSession:
		c.serveReopen(l, r)
	case r.Op == wire.OpCloseSession:
		c.serveClose(l, r)
	case operation.Of(r.Op).Write && l.session.link != l && !l.crashed.Load():
		// The session has moved to another connection: the leader rejects the write, and the
		// client's server closes the connection without a reply (ZOOKEEPER-710).
		c.zxid++
		c.closeConnection(l)
	default:
		c.handle(l, r)
	}
}

// handle executes a request and replies, unless the server would not.
func (c *Cluster) handle(l *Link, r *Exchange) {
	answer := c.execute(l, r)
	r.Result, r.count, r.identities = answer.Result, answer.Number, answer.Identities
	if answer.Then == operation.Reply || answer.Then == operation.ReplyAndClose {
		c.respond(l, r)
	}
	if answer.Then == operation.ReplyAndClose || answer.Then == operation.Close {
		l.post(Message{})
	}
}

func failure(code wire.Code) operation.Answer {
	return operation.Answer{Result: tree.Result{Code: code}}
}

// execute executes a request. As in ZooKeeper, a failed write consumes a zxid too.
func (c *Cluster) execute(l *Link, r *Exchange) operation.Answer {
	o := operation.Of(r.Op)
	switch {
	case o.Execute == nil || o.GoneSince39 && c.config.Version >= V39:
		answer := failure(wire.Unimplemented)
		answer.Then = operation.ReplyAndClose
		return answer
	case r.malformed && o.Malformed == operation.MalformedCloses:
		return operation.Answer{Then: operation.Close}
	case r.malformed && o.Malformed == operation.MalformedFailsEarly:
		return failure(wire.MarshallingError)
	}
	if l.session.local && !r.malformed && c.mustUpgrade(&r.Request) {
		c.upgrade(l.session)
	}
	if o.Write {
		c.zxid++
	}
	if r.malformed {
		return failure(wire.MarshallingError)
	}
	c.execution = execution{
		cluster: c, link: l, number: r.Number, maker: r.maker(l), write: o.Write,
	}
	return o.Execute(&c.execution, &r.Request)
}

// postReply sends a reply. The reply to CloseSession ends the connection's session and its watches.
func (c *Cluster) postReply(l *Link, r *Exchange) {
	if r.Op == wire.OpCloseSession {
		l.session = nil
		c.recordWatchesGone(l, c.watches.drop(l))
	}
	c.record(history.Event{
		At: c.now, Kind: history.Serve, Process: r.maker(l), Connection: l.connection,
		Request: r.Number,
		Op:      r.verb(), Path: r.Path, Zxid: r.zxid, Err: r.Result.Code.String(),
	})
	l.post(Message{Reply: r, Zxid: r.zxid})
}
