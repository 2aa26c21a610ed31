package model

import "github.com/interlock-sim/interlock/simzk/internal/memory"

// A savedConn is the saved state of a client whose process is a [Stub].
type savedConn struct {
	guids        uint64
	state        connState
	sessionID    int64
	status       int32
	closed       bool
	hasSubmitted bool
	submitted    memory.SliceCopy[*call]
	arena        memory.Arena[call]
	recycled     []*call
	waiting      memory.SliceCopy[*call]
	unsent       memory.SliceCopy[*call]
	inFlight     memory.SliceCopy[*call]
	watchers     memory.SliceCopy[watcher]
	channels     []memory.SliceCopy[watchChannel] // by watcher
	objects      memory.ObjectCopies[call]

	stub    Stub
	calls   memory.SliceCopy[*call]
	watches memory.SliceCopy[int32]
}

// save stores the state of the client in the memory of old, unless that is nil.
func (c *Conn) save(old any) *savedConn {
	s, _ := old.(*savedConn)
	if s == nil {
		s = new(savedConn)
	}
	stub := c.stub
	s.guids = c.guids.Load()
	s.state, s.sessionID, s.status = c.connState, c.sessionID.Load(), c.status.Load()
	s.closed, s.hasSubmitted = c.closed.Load(), c.hasSubmitted.Load()
	s.submitted.Save(c.submitted)
	s.arena, s.recycled = c.calls, c.recycled
	s.waiting.Save(c.waiting)
	s.unsent.Save(c.unsent)
	s.inFlight.Save(c.inFlight)
	s.watchers.Save(c.watchers)
	s.channels = s.channels[:0]
	for i := range c.watchers {
		var channels *memory.SliceCopy[watchChannel]
		s.channels, channels = memory.Extend(s.channels)
		channels.Save(c.watchers[i].channels)
	}
	s.stub = *stub
	s.calls.Save(stub.calls)
	s.watches.Save(stub.watches)
	s.objects.Reset()
	for _, calls := range [...][]*call{c.submitted, c.waiting, c.unsent, c.inFlight, stub.calls} {
		s.objects.Save(calls...)
	}
	return s
}

// restore resets the client to a saved state.
func (c *Conn) restore(s *savedConn) {
	c.guids.Store(s.guids)
	c.connState = s.state
	c.sessionID.Store(s.sessionID)
	c.status.Store(s.status)
	c.closed.Store(s.closed)
	c.hasSubmitted.Store(s.hasSubmitted)
	c.calls = s.arena // What was allocated since is not in use any more.
	c.submitted, c.recycled, c.waiting = s.submitted.Slice, s.recycled, s.waiting.Slice
	s.submitted.Restore()
	s.waiting.Restore()
	s.unsent.Restore()
	s.inFlight.Restore()
	s.watchers.Restore()
	for i := range s.channels {
		s.channels[i].Restore()
	}
	*c.stub = s.stub
	s.calls.Restore()
	s.watches.Restore()
	s.objects.Restore()
}
