package model

import (
	"time"

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
func (e end) PingsShifted(by time.Duration)   { e.conn.keepalive.PingStart -= by }
func (e end) TearDown()                       { e.conn.tearDown() }
func (e end) ShutDown()                       { e.conn.shutDown() }
func (e end) StateHash() uint64               { return e.conn.stateHash() }
func (e end) CanSave() bool                   { return e.conn.stub != nil }
func (e end) Save(old any) any                { return e.conn.save(old) }
func (e end) Restore(saved any)               { e.conn.restore(saved.(*savedConn)) }

func (e end) Collect() {
	if e.conn.family.HasOpened() && !e.conn.Crashed() {
		e.conn.connectOpened()
	}
	if e.conn.hasSubmitted.Load() {
		e.conn.collect()
	}
}

func (c *Conn) connected() bool {
	return c.phase != library.Dialing && c.phase != library.Terminated
}

func (c *Conn) pending() *wire.Request {
	for _, r := range c.inFlight {
		if r.done != nil {
			return &r.Request
		}
	}
	return nil
}

func (c *Conn) deadline() (time.Duration, bool) {
	if c.phase == library.Dialing {
		return c.dialAt, true
	}
	return c.keepalive.ReadDeadline, c.keepalive.ReadDeadline > 0
}

func (c *Conn) pingsStalled() {
	c.keepalive.StopPings(c.phase == library.Connected, c.cluster.Now(), c.cluster.SessionTimeout(),
		c.RoundTrip())
}

func (c *Conn) pingsResumed() {
	c.keepalive.ResumePings(c.phase == library.Connected, c.cluster.Now(),
		c.cluster.SessionTimeout(), c.RoundTrip())
}

func (c *Conn) latencyChanges() {
	c.keepalive.ChangeLatency(c.phase == library.Connected, c.cluster.Now(),
		c.cluster.SessionTimeout(), c.RoundTrip())
}

func (c *Conn) advance() {
	switch at, waits := c.deadline(); {
	case !waits || at > c.cluster.Now():
	case c.phase != library.Dialing:
		c.cluster.ResetConnection(c.Link)
	case !c.dial():
		c.redial()
	}
}
