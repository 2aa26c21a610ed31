package real

import (
	"time"

	"github.com/interlock-sim/interlock/internal/hash64"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// An endpointEnd is the client's end of the link of a process that opens its clients itself.
type endpointEnd struct{ at *Endpoint }

func (e endpointEnd) Collect()                { e.at.collect() }
func (e endpointEnd) Deliver(m simzk.Message) { e.at.deliver(m) }
func (e endpointEnd) Disconnected()           { e.at.disconnected() }
func (e endpointEnd) Connected() bool         { return e.at.pipe != nil }
func (e endpointEnd) KnownSession() int64     { return e.at.session }
func (e endpointEnd) Advance()                { e.at.advance() }
func (e endpointEnd) PingsStalled()           { e.at.answerPings(false) }
func (e endpointEnd) PingsResumed()           { e.at.answerPings(true) }
func (e endpointEnd) TearDown()               { e.at.tearDown() }
func (e endpointEnd) ShutDown()               { e.at.shutDown() }

func (e endpointEnd) connection() *pipe { return e.at.pipe }

// Paused implements [simzk.LibraryEnd].
func (e endpointEnd) Paused() {
	e.at.isPaused.Store(true)
	if p := e.at.pipe; p != nil {
		p.pause()
	}
}

// Resumed implements [simzk.LibraryEnd].
func (e endpointEnd) Resumed() {
	e.at.isPaused.Store(false)
	if p := e.at.pipe; p != nil {
		p.resume(e.at.cluster.Settle)
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
	r := e.at
	now := r.cluster.Now()
	if r.awaited() {
		return now, true
	}
	return r.redialAt, r.pipe == nil && r.redialAt > now
}

// Key returns a hash of what the client has sent and received.
func (e endpointEnd) Key() uint64 {
	r := e.at
	key := hash64.Mix(r.receivedHash, r.sentHash)
	if r.pipe == nil {
		key = hash64.Mix(key, 1+uint64(max(0, r.redialAt-r.cluster.Now())))
	}
	return key
}

// answerPings sets whether pings are answered from now on.
func (r *Endpoint) answerPings(answer bool) {
	if r.pipe == nil {
		return
	}
	if r.pipe.answerPings(answer); answer {
		r.cluster.Settle()
	}
}
