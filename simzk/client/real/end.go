package real

import (
	"time"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// An end is the client's end of a link, which callers of the client do not see.
type end struct{ conn *Conn }

func (e end) Collect()                        { e.conn.collect() }
func (e end) Deliver(m simzk.Message)         { e.conn.deliver(m) }
func (e end) Disconnected()                   { e.conn.disconnected() }
func (e end) Connected() bool                 { return e.conn.connected() }
func (e end) KnownSession() int64             { return e.conn.SessionID() }
func (e end) Pending() *wire.Request          { return e.conn.pending() }
func (e end) Deadline() (time.Duration, bool) { return e.conn.deadline() }
func (e end) Advance()                        { e.conn.advance() }
func (e end) PingsStalled()                   { e.conn.pingsStalled() }
func (e end) PingsResumed()                   { e.conn.pingsResumed() }
func (e end) Key() uint64                     { return e.conn.key() }
func (e end) TearDown()                       { e.conn.tearDown() }
func (e end) ShutDown()                       { e.conn.shutDown() }
