package model

import (
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A Stub replaces the code of a client's process: it records the inputs to the process, and its
// caller supplies the process's reactions. A cluster can thus run without goroutines where the
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
		r := c.calls.Next(callArenaSize)
		r.Request, r.done = calls[i], stubDone
		c.submitted, c.waiting, s.calls = append(c.submitted, r), append(c.waiting, r),
			append(s.calls, r)
		c.hasSubmitted.Store(true)
	}
	c.closed.Store(closed)
}

// callIndex returns the index of a waiting call, or -1.
func (s *Stub) callIndex(r *call) int { return slices.Index(s.calls, r) }
