package model

import (
	"slices"

	"github.com/cespare/xxhash/v2"
	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/simzk/client/internal/library"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// An Isolated is the client of a process whose code runs alone: the process receives only the
// inputs of its caller.
type Isolated struct {
	conn    *Conn
	calls   []*call // as in a [Stub]
	watches []chan zk.Event
}

// Isolate returns the isolated client of a connection. Nothing else may use the connection's
// cluster.
func (c *Conn) Isolate() *Isolated { return &Isolated{conn: c} }

// Apply applies an input to the process. It reports whether the process was waiting for it.
func (s *Isolated) Apply(what *Input) (awaited bool) {
	c, which := s.conn, int(what.Index)
	switch what.Kind {
	case Answered:
		if which >= len(s.calls) {
			return false
		}
		s.answer(which, what)
	case Fired:
		if which >= len(s.watches) {
			return false
		}
		events := s.watches[which]
		s.watches = slices.Delete(s.watches, which, which+1)
		events <- what.Event
		close(events)
	case Emitted:
		c.emit(what.Event)
	case EventsEnded:
		c.closeEvents()
	case SessionSet:
		c.sessionID.Store(what.Session)
	case StateSet:
		c.status.Store(int32(what.State))
	}
	return true
}

func (s *Isolated) answer(which int, what *Input) {
	c, r := s.conn, s.calls[which]
	s.calls = slices.Delete(s.calls, which, which+1)
	result := *what.Result
	if what.DropsStat {
		result.Stat = wire.Stat{}
	}
	result.Children = slices.Clone(result.Children) // The caller may sort it.
	r.answer, r.err = &result, what.Err
	if what.Watches {
		events := make(chan zk.Event, 1)
		s.watches, r.events = append(s.watches, events), events
	}
	c.mu.Lock()
	waits := c.removeWaiting(r)
	c.mu.Unlock()
	if waits {
		r.done <- struct{}{}
	}
}

// Reaction returns the process's actions since the last call, as [Stub.Perform] takes them.
// The process must be blocked.
func (s *Isolated) Reaction() (calls []wire.Request, remaining []int32, closed bool) {
	c := s.conn
	submitted := c.takeSubmitted()
	remaining = s.dropCalls()
	for _, r := range submitted {
		req := r.Request
		// The caller keeps the request, and the client reuses its memory.
		req.Ops = slices.Clone(req.Ops)
		calls, s.calls = append(calls, req), append(s.calls, r)
	}
	return calls, remaining, c.closed.Load()
}

// Discard forgets the process's actions since the last call of Reaction. The process must be
// blocked.
func (s *Isolated) Discard() {
	submitted := s.conn.takeSubmitted()
	s.dropCalls()
	s.calls = append(s.calls, submitted...)
}

// dropCalls drops the calls for which the process does not wait any more. It returns the numbers of
// the remaining ones, or nil if none was dropped.
func (s *Isolated) dropCalls() (remaining []int32) {
	c := s.conn
	c.mu.Lock() // It orders this before the next action of a goroutine whose timer fires.
	defer c.mu.Unlock()
	waits := func(r *call) bool { return slices.Contains(c.waiting, r) }
	dropped := slices.IndexFunc(s.calls, func(r *call) bool { return !waits(r) })
	if dropped < 0 {
		return nil
	}
	remaining = make([]int32, 0, len(s.calls))
	for i, r := range s.calls {
		if waits(r) {
			s.calls[len(remaining)] = r
			remaining = append(remaining, int32(i))
		}
	}
	s.calls = s.calls[:len(remaining)]
	return remaining
}

// Connects reports whether the process has opened a further client. Nothing connects that one.
func (s *Isolated) Connects() bool { return s.conn.family.HasOpened() }

// Awaits returns the numbers of waiting calls and of pending watches. The process must be blocked.
func (s *Isolated) Awaits() (calls, watches int) { return len(s.calls), len(s.watches) }

// Listens reports whether the process has asked for the events of the session or for its state.
func (s *Isolated) Listens() bool {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	return s.conn.events != nil || s.conn.stateRead.Load()
}

// OpenCalls returns 64 bits over the state between the process and its client: waiting calls,
// pending watches, unread events, and what the process can read from the client at once. The
// process must be blocked.
func (s *Isolated) OpenCalls() uint64 {
	c := s.conn
	h := hash64.Mix(uint64(c.SessionID()), uint64(c.status.Load())<<32|uint64(len(s.watches)))
	h = hash64.Mix(h, c.guids.Load()<<1|hash64.Bit(c.closed.Load()))
	for _, r := range s.calls {
		h = hash64.Mix(hash64.Mix(h, uint64(library.Rank(&r.Request))),
			xxhash.Sum64(library.Encoded(&r.Request)))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return hash64.Mix(h, uint64(len(c.events))<<2|hash64.Bit(c.eventsClosed)<<1|
		hash64.Bit(c.events != nil))
}
