package simzk

import (
	"time"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// A modelEnd is the client's end of a link, which callers of the client do not see.
type modelEnd struct{ conn *Conn }

func (e modelEnd) Collect()                        { e.conn.collect() }
func (e modelEnd) Deliver(m message)               { e.conn.deliver(m) }
func (e modelEnd) Disconnected()                   { e.conn.disconnected() }
func (e modelEnd) Connected() bool                 { return e.conn.connected() }
func (e modelEnd) KnownSession() int64             { return e.conn.SessionID() }
func (e modelEnd) Pending() *wire.Request          { return e.conn.pending() }
func (e modelEnd) Deadline() (time.Duration, bool) { return e.conn.deadline() }
func (e modelEnd) Advance()                        { e.conn.advance() }
func (e modelEnd) PingsStalled()                   { e.conn.pingsStalled() }
func (e modelEnd) PingsResumed()                   { e.conn.pingsResumed() }
func (e modelEnd) Key() uint64                     { return e.conn.key() }
func (e modelEnd) TearDown()                       { e.conn.tearDown() }
func (e modelEnd) ShutDown()                       { e.conn.shutDown() }
func (e modelEnd) StateHash() uint64               { return e.conn.stateHash() }
func (e modelEnd) CanSave() bool                   { return e.conn.stub != nil }
func (e modelEnd) Save(old any) any                { return e.conn.save(old) }
func (e modelEnd) Restore(saved any)               { e.conn.restore(saved.(*savedConn)) }
