package model

import (
	"slices"

	"github.com/cespare/xxhash/v2"
	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/internal/hash64"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client/internal/library"
	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// InputKind is the kind of an [Input].
type InputKind uint8

// The kinds of inputs, and the fields that each uses.
const (
	Answered    InputKind = iota // a call has returned. Index, Watches, Result, Err
	Fired                        // a watch's channel has received its event. Index, Event
	Emitted                      // the event channel has received an event. Event
	EventsEnded                  // the event channel was closed
	SessionSet                   // the session id has changed. Session
	StateSet                     // the connection's state has changed. State
)

// An Input is one effect of a model client on its process. A process reacts to nothing but inputs,
// the passing of time and its caller's actions.
type Input struct {
	Kind InputKind
	// Index into the waiting calls, in the order in which they were made, or into the pending
	// watches.
	Index     int32
	Watches   bool // the call has set a watch
	DropsStat bool // the call does not return the stat
	Result    *tree.Result
	Err       error
	Event     zk.Event
	Session   int64
	State     zk.State
}

// Hash returns 64 bits over everything that the process can observe of the input.
func (s *Input) Hash() uint64 {
	h := hash64.Mix(uint64(s.Kind)<<48|uint64(uint32(s.Index))<<1|hash64.Bit(s.Watches),
		uint64(s.Session)^uint64(s.State)<<32)
	if s.Err != nil {
		h = hash64.Mix(h, xxhash.Sum64String(s.Err.Error()))
	}
	switch s.Kind {
	case Answered:
		if h = hash64.Mix(h, hashResult(s.Result)); !s.DropsStat {
			h = hash64.Mix(h, hashStat(&s.Result.Stat))
		}
		return h
	case Fired, Emitted:
		h = hash64.Mix(h, uint64(uint32(s.Event.Type))<<32|uint64(uint32(s.Event.State)))
		if s.Event.Err != nil {
			h = hash64.Mix(h, xxhash.Sum64String(s.Event.Err.Error()))
		}
		return hash64.Mix(h, xxhash.Sum64String(s.Event.Path)^xxhash.Sum64String(s.Event.Server))
	}
	return h
}

func hashResult(r *tree.Result) uint64 {
	h := hash64.Mix(uint64(uint32(r.Code)), xxhash.Sum64String(r.Path))
	h = hash64.Mix(hash64.Mix(h, xxhash.Sum64(r.Data)), uint64(len(r.Children)))
	for _, name := range r.Children {
		h = hash64.Mix(h, xxhash.Sum64String(name))
	}
	for _, a := range r.ACL {
		h = hash64.Mix(h, xxhash.Sum64String(a.Scheme)^xxhash.Sum64String(a.ID)*3^uint64(a.Perms))
	}
	for i := range r.Results {
		result := &r.Results[i]
		h = hash64.Mix(hash64.Mix(h, uint64(uint32(result.Op))<<32|uint64(uint32(result.Code))),
			xxhash.Sum64String(result.Path))
		h = hash64.Mix(h, hashStat(&result.Stat))
	}
	return h
}

// hashStat hashes a stat without its times, which keys omit.
func hashStat(s *wire.Stat) uint64 {
	if s.Czxid == 0 && s.Pzxid == 0 {
		return 0
	}
	h := hash64.Mix(hash64.Mix(uint64(s.Czxid), uint64(s.Mzxid)), uint64(s.Pzxid))
	h = hash64.Mix(h, uint64(uint32(s.Version))<<32|uint64(uint32(s.Cversion)))
	return hash64.Mix(hash64.Mix(h, uint64(uint32(s.Aversion))<<32|uint64(uint32(s.NumChildren))),
		uint64(s.EphemeralOwner))
}

// A Stub replaces the code of a client's process: it records the inputs to the process, and
// its caller supplies the process's reactions. A cluster can thus run without goroutines where the
// reactions are known.
type Stub struct {
	Inputs      []Input // the caller empties it
	conn        *Conn
	calls       []*call // waiting, in the order in which they were made
	watches     []int32 // channel numbers of the pending watches
	lastChannel int32   // number of the last watch's channel
}

// Stub replaces the client's process by a stub. The process must not run.
func (c *Conn) Stub() *Stub {
	c.stub = &Stub{conn: c}
	return c.stub
}

func (s *Stub) addInput(in Input) { s.Inputs = append(s.Inputs, in) }

// newChannel returns the number of the channel of a new watch.
func (s *Stub) newChannel() int32 {
	s.lastChannel++
	return s.lastChannel
}

func (s *Stub) completeCall(r *call) {
	which := slices.Index(s.calls, r)
	if which < 0 {
		return
	}
	s.calls = slices.Delete(s.calls, which, which+1)
	if r.watch != 0 {
		s.watches = append(s.watches, r.watch)
	}
	s.addInput(Input{
		Kind: Answered, Index: int32(which), Result: r.answer, Err: r.err,
		Watches: r.watch != 0, DropsStat: operation.Of(r.Op).DropsStat,
	})
}

func (s *Stub) fireChannel(channel int32, event zk.Event) {
	if which := slices.Index(s.watches, channel); which >= 0 { // Or else nobody has the channel.
		s.watches = slices.Delete(s.watches, which, which+1)
		s.addInput(Input{Kind: Fired, Index: int32(which), Event: event})
	}
}

// stubDone is the done channel of a stub's calls, which never receives. It distinguishes them from
// the client's own calls, whose done channel is nil.
var stubDone = make(chan struct{})

// Perform applies a reaction of the process: the process has made the calls, in canonical order; it
// has given up all waiting calls but the remaining ones, unless remaining is nil; and it has closed
// the client, if closed is set.
func (s *Stub) Perform(calls []wire.Request, remaining []int32, closed bool) {
	c := s.conn
	if remaining != nil {
		old := s.calls
		s.calls = make([]*call, len(remaining))
		for i, which := range remaining {
			s.calls[i] = old[which]
		}
		c.waiting = slices.DeleteFunc(c.waiting,
			func(r *call) bool { return !slices.Contains(s.calls, r) })
	}
	for i := range calls {
		r := &call{Exchange: simzk.Exchange{Request: calls[i]}, done: stubDone}
		c.submitted, c.waiting, s.calls = append(c.submitted, r), append(c.waiting, r),
			append(s.calls, r)
		c.hasSubmitted.Store(true)
	}
	c.closed.Store(closed)
}

// An Isolated runs the code of one process in isolation: the process receives only the inputs
// of its caller.
type Isolated struct {
	conn    *Conn
	calls   []*call // as in a [Stub]
	watches []chan zk.Event
}

// Isolate returns the isolated client of a connection. Nothing else may use the connection's
// cluster.
func (c *Conn) Isolate() *Isolated { return &Isolated{conn: c} }

// Apply applies an input to the process. The process must be waiting for it.
func (s *Isolated) Apply(what *Input) {
	c, which := s.conn, int(what.Index)
	switch what.Kind {
	case Answered:
		s.answer(which, what)
	case Fired:
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
	old := s.calls
	// The lock orders this before the next action of a goroutine whose timer fires.
	c.mu.Lock()
	s.calls = slices.DeleteFunc(slices.Clone(old),
		func(r *call) bool { return !slices.Contains(c.waiting, r) })
	c.mu.Unlock()
	if len(s.calls) < len(old) {
		remaining = make([]int32, len(s.calls))
		for i, r := range s.calls {
			remaining[i] = int32(slices.Index(old, r))
		}
	}
	for _, r := range submitted {
		req := r.Request
		// The caller keeps the request, and the client reuses its memory.
		req.Ops = slices.Clone(req.Ops)
		calls, s.calls = append(calls, req), append(s.calls, r)
	}
	return calls, remaining, c.closed.Load()
}

// Awaits returns the numbers of waiting calls and of pending watches. The process must be blocked.
func (s *Isolated) Awaits() (calls, watches int) { return len(s.calls), len(s.watches) }

// OpenCalls returns 64 bits over the state between the process and its client: waiting calls,
// pending watches, unread events, and what the process can read from the client at once. The
// process must be blocked.
func (s *Isolated) OpenCalls() uint64 {
	c := s.conn
	h := hash64.Mix(uint64(c.SessionID()), uint64(c.State())<<32|uint64(len(s.watches)))
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
