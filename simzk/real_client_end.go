package simzk

import (
	"time"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// A realEnd is the client's end of a link, which callers of the client do not see.
type realEnd struct{ conn *RealConn }

func (e realEnd) Collect()                        { e.conn.collect() }
func (e realEnd) Deliver(m message)               { e.conn.deliver(m) }
func (e realEnd) Disconnected()                   { e.conn.disconnected() }
func (e realEnd) Connected() bool                 { return e.conn.connected() }
func (e realEnd) KnownSession() int64             { return e.conn.SessionID() }
func (e realEnd) Pending() *wire.Request          { return e.conn.pending() }
func (e realEnd) Deadline() (time.Duration, bool) { return e.conn.deadline() }
func (e realEnd) Advance()                        { e.conn.advance() }
func (e realEnd) PingsStalled()                   { e.conn.pingsStalled() }
func (e realEnd) PingsResumed()                   { e.conn.pingsResumed() }
func (e realEnd) Key() uint64                     { return e.conn.key() }
func (e realEnd) TearDown()                       { e.conn.tearDown() }
func (e realEnd) ShutDown()                       { e.conn.shutDown() }
