package real

import (
	"time"

	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client/internal/library"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// An end is the client's end of a link, which callers of the client do not see.
type end struct{ conn *Conn }

func (e end) Deliver(m simzk.Message)         { e.conn.deliver(m) }
func (e end) Disconnected()                   { e.conn.disconnected() }
func (e end) Connected() bool                 { return e.conn.connected() }
func (e end) KnownSession() int64             { return e.conn.SessionID() }
func (e end) Pending() *wire.Request          { return e.conn.pending() }
func (e end) Deadline() (time.Duration, bool) { return e.conn.deadline() }
func (e end) Advance()                        { e.conn.advance() }
func (e end) PingsStalled()                   { e.conn.pingsStalled() }
func (e end) PingsResumed()                   { e.conn.pingsResumed() }
func (e end) LatencyChanges()                 { e.conn.latencyChanges() }
func (e end) Key() uint64                     { return e.conn.key() }
func (e end) TearDown()                       { e.conn.tearDown() }
func (e end) ShutDown()                       { e.conn.shutDown() }

func (e end) connection() *pipe { return e.conn.pipe }

// Collect implements [simzk.End].
func (e end) Collect() {
	if e.conn.family.HasOpened() && !e.conn.link.Crashed() {
		e.conn.connectOpened()
	}
	e.conn.collect()
}

// Paused implements [simzk.LibraryEnd].
func (e end) Paused() {
	e.conn.isPaused.Store(true)
	if p := e.conn.pipe; p != nil {
		p.pause()
	}
}

// Resumed implements [simzk.LibraryEnd].
func (e end) Resumed() {
	e.conn.isPaused.Store(false)
	if p := e.conn.pipe; p != nil {
		p.resume(e.conn.settle)
	}
}

// Crashed implements [simzk.LibraryEnd].
func (e end) Crashed() {
	if p := e.conn.pipe; p != nil {
		p.stop()
	}
}

func (r *Conn) connected() bool {
	return r.phase != library.Dialing && r.phase != library.Terminated
}

func (r *Conn) pending() *wire.Request {
	for _, q := range r.inFlight {
		if q.Op != wire.OpCreateSession && q.Op != wire.OpSetWatches && q != r.lastAuth {
			return &q.Request
		}
	}
	return nil
}

func (r *Conn) deadline() (time.Duration, bool) {
	if r.phase == library.Dialing {
		return r.dialAt, true
	}
	return r.keepalive.ReadDeadline, r.keepalive.ReadDeadline > 0
}

func (r *Conn) pingsStalled() {
	if r.pipe != nil {
		r.pipe.answerPings(false)
	}
	r.keepalive.StopPings(r.phase == library.Connected, r.cluster.Now(), r.cluster.SessionTimeout(),
		r.link.RoundTrip())
}

func (r *Conn) pingsResumed() {
	if r.pipe != nil {
		r.pipe.answerPings(true)
		r.settle()
	}
	r.keepalive.ResumePings(r.phase == library.Connected, r.cluster.Now(),
		r.cluster.SessionTimeout(), r.link.RoundTrip())
}

func (r *Conn) latencyChanges() {
	r.keepalive.ChangeLatency(r.phase == library.Connected, r.cluster.Now(),
		r.cluster.SessionTimeout(), r.link.RoundTrip())
}

func (r *Conn) key() uint64 {
	key := hash64.Mix(hash64.Mix(r.receivedHash, r.sentHash), uint64(r.phase))
	switch {
	case r.phase == library.Dialing:
		key = hash64.Mix(key, uint64(r.dialAt-r.cluster.Now()))
	case r.phase != library.Connecting && r.keepalive.ReadDeadline > 0:
		key = hash64.Mix(key, uint64(r.keepalive.ReadDeadline-r.cluster.Now()))
	}
	return key
}
