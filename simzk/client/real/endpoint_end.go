package real

import (
	"time"

	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// An endpointEnd is the client's end of a link of a process that opens its clients itself. The end
// of the first link acts for the process.
type endpointEnd struct{ at *ownConnection }

func (e endpointEnd) Collect()                { e.at.collect() }
func (e endpointEnd) Deliver(m simzk.Message) { e.at.deliver(m) }
func (e endpointEnd) Disconnected()           { e.at.disconnected() }
func (e endpointEnd) Connected() bool         { return e.at.pipe != nil }
func (e endpointEnd) KnownSession() int64     { return e.at.session }
func (e endpointEnd) PingsStalled()           { e.at.answerPings(false) }
func (e endpointEnd) PingsResumed()           { e.at.answerPings(true) }
func (e endpointEnd) LatencyChanges()         {}
func (e endpointEnd) TearDown()               { e.at.of.tearDown() }
func (e endpointEnd) ShutDown()               { e.at.of.shutDown() }

func (e endpointEnd) connection() *pipe { return e.at.pipe }

// isFirst reports whether the link is the first of its process.
func (e endpointEnd) isFirst() bool { return e.at == e.at.of.connections[0] }

// Advance implements [simzk.End].
func (e endpointEnd) Advance() {
	if e.isFirst() {
		e.at.of.advance()
	}
}

// Paused implements [simzk.LibraryEnd].
func (e endpointEnd) Paused() {
	e.at.of.isPaused.Store(true)
	if p := e.at.pipe; p != nil {
		p.pause()
	}
}

// Resumed implements [simzk.LibraryEnd].
func (e endpointEnd) Resumed() {
	e.at.of.isPaused.Store(false)
	if p := e.at.pipe; p != nil {
		p.resume(e.at.of.cluster.Settle)
	}
}

// Crashed implements [simzk.LibraryEnd].
func (e endpointEnd) Crashed() {
	if p := e.at.pipe; p != nil {
		p.stop()
	}
}

// Pending returns the oldest request that the code of the process has made.
func (e endpointEnd) Pending() *wire.Request {
	for _, q := range e.at.inFlight {
		if q.Op != wire.OpCreateSession && q.Op != wire.OpSetWatches {
			return &q.Request
		}
	}
	return nil
}

// Deadline returns now if a client waits for a connection. Otherwise it returns when a client that
// has lost its connection dials again, if it does as go-zookeeper/zk does.
func (e endpointEnd) Deadline() (time.Duration, bool) {
	o := e.at
	now := o.of.cluster.Now()
	if e.isFirst() && o.of.awaited() {
		return now, true
	}
	return o.redialAt, o.pipe == nil && o.redialAt > now
}

// Key returns a hash of what the client has sent and received.
func (e endpointEnd) Key() uint64 {
	o := e.at
	key := hash64.Mix(o.receivedHash, o.sentHash)
	if o.pipe == nil {
		key = hash64.Mix(key, 1+uint64(max(0, o.redialAt-o.of.cluster.Now())))
	}
	return key
}
