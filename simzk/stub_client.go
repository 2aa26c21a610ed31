package simzk

import (
	"slices"

	"github.com/cespare/xxhash/v2"
	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// InputKind is a sort of [Input].
type InputKind uint8

// The kinds of stimuli, and the fields that each uses.
const (
	Answered    InputKind = iota // a call has returned. Which, Watches, Result, Err
	Fired                        // the channel of a watch has received its event. Which, Event
	Emitted                      // the client's channel of events has received one. Event
	EventsEnded                  // that channel was closed
	SessionSet                   // the client has another session. Session
	StateSet                     // the state of its connection has changed. State
)

// A Input is one thing by which a modelled client reaches its process. There is no other way: what
// the code of a process does is decided by these, by the passing of time, and by what its caller
// does to it.
type Input struct {
	Kind InputKind
	// of the calls that wait, in the order in which they were made, or of the watches that have not
	// fired
	Which   int32
	Watches bool // the call has set a watch
	Blind   bool // the call does not return the stat
	Result  *tree.Result
	Err     error
	Event   zk.Event
	Session int64
	State   zk.State
}

// Hash returns 64 bits over all that the process can tell of the stimulus.
func (s *Input) Hash() uint64 {
	h := mix(uint64(s.Kind)<<48|uint64(uint32(s.Which))<<1|uint64(btoi(s.Watches)),
		uint64(s.Session)^uint64(s.State)<<32)
	if s.Err != nil {
		h = mix(h, xxhash.Sum64String(s.Err.Error()))
	}
	switch s.Kind {
	case Answered:
		if h = mix(h, hashResult(s.Result)); !s.Blind {
			h = mix(h, hashStat(&s.Result.Stat))
		}
		return h
	case Fired, Emitted:
		h = mix(h, uint64(uint32(s.Event.Type))<<32|uint64(uint32(s.Event.State)))
		if s.Event.Err != nil {
			h = mix(h, xxhash.Sum64String(s.Event.Err.Error()))
		}
		return mix(h, xxhash.Sum64String(s.Event.Path)^xxhash.Sum64String(s.Event.Server))
	}
	return h
}

func hashResult(r *tree.Result) uint64 {
	h := mix(uint64(uint32(r.Code)), xxhash.Sum64String(r.Path))
	h = mix(mix(h, xxhash.Sum64(r.Data)), uint64(len(r.Children)))
	for _, name := range r.Children {
		h = mix(h, xxhash.Sum64String(name))
	}
	for _, a := range r.ACL {
		h = mix(h, xxhash.Sum64String(a.Scheme)^xxhash.Sum64String(a.ID)*3^uint64(a.Perms))
	}
	for i := range r.Results {
		one := &r.Results[i]
		h = mix(mix(h, uint64(uint32(one.Op))<<32|uint64(uint32(one.Code))),
			xxhash.Sum64String(one.Path))
		h = mix(h, hashStat(&one.Stat))
	}
	return h
}

// hashStat hashes a stat without its times, which keys leave out.
func hashStat(s *wire.Stat) uint64 {
	if s.Czxid == 0 && s.Pzxid == 0 {
		return 0
	}
	h := mix(mix(uint64(s.Czxid), uint64(s.Mzxid)), uint64(s.Pzxid))
	h = mix(h, uint64(uint32(s.Version))<<32|uint64(uint32(s.Cversion)))
	return mix(mix(h, uint64(uint32(s.Aversion))<<32|uint64(uint32(s.NumChildren))),
		uint64(s.EphemeralOwner))
}

// A StubClient stands in for the code of a client's process: it notes what reaches the process, and
// its caller says what the process does. So a cluster can be run without goroutines where that is
// known.
type StubClient struct {
	Inputs  []Input // since the caller has last emptied it
	conn    *Conn
	calls   []*call // that wait, in the order in which they were made
	watches []int32 // the numbers of the channels that have not fired
	last    int32   // such number
}

// Stub puts a double into the place of the client's process, which must not run.
func (c *Conn) Stub() *StubClient {
	c.stub = &StubClient{conn: c}
	return c.stub
}

func (d *StubClient) addInput(s Input) { d.Inputs = append(d.Inputs, s) }

// newChannel returns the number of the channel on which a watch is going to tell.
func (d *StubClient) newChannel() int32 {
	d.last++
	return d.last
}

func (d *StubClient) completeCall(r *call) {
	which := slices.Index(d.calls, r)
	if which < 0 {
		return
	}
	d.calls = slices.Delete(d.calls, which, which+1)
	if r.watch != 0 {
		d.watches = append(d.watches, r.watch)
	}
	d.addInput(Input{
		Kind: Answered, Which: int32(which), Result: r.answer, Err: r.err,
		Watches: r.watch != 0, Blind: dropsStat(r.Op),
	})
}

func (d *StubClient) fireChannel(channel int32, event zk.Event) {
	if which := slices.Index(d.watches, channel); which >= 0 { // Or else nobody has the channel.
		d.watches = slices.Delete(d.watches, which, which+1)
		d.addInput(Input{Kind: Fired, Which: int32(which), Event: event})
	}
}

// dropsStat tells whether the methods of a client that ask for this do not return the stat that the
// ensemble answers.
func dropsStat(op wire.Op) bool {
	switch op {
	case wire.OpCreate, wire.OpCreateContainer, wire.OpCreateTTL, wire.OpDelete, wire.OpSync,
		wire.OpAuth, wire.OpCloseSession:
		return true
	}
	return false
}

// neverReceives is the channel on which a call of a double waits: that there is one tells it from
// the client's own calls.
var stubDone = make(chan struct{})

// Perform says what the process has done: it has made the calls, in canonical order; of those that
// have waited only the given ones go on waiting, unless kept is nil; and it has closed the client,
// or not.
func (d *StubClient) Perform(calls []wire.Request, kept []int32, closed bool) {
	c := d.conn
	if kept != nil {
		old := d.calls
		d.calls = make([]*call, len(kept))
		for i, which := range kept {
			d.calls[i] = old[which]
		}
		c.waiting = slices.DeleteFunc(c.waiting,
			func(r *call) bool { return !slices.Contains(d.calls, r) })
	}
	for i := range calls {
		r := &call{request: request{Request: calls[i]}, done: stubDone}
		c.submitted, c.waiting, d.calls = append(c.submitted, r), append(c.waiting, r),
			append(d.calls, r)
		c.hasSubmitted.Store(true)
	}
	c.closed.Store(closed)
}

// A IsolatedClient runs the code of one process by itself: nothing reaches it but the stimuli that
// its caller says.
type IsolatedClient struct {
	conn    *Conn
	calls   []*call // as a double has them
	watches []chan zk.Event
}

// Isolate returns the solo of a client that belongs to a cluster which its caller leaves alone.
func (c *Conn) Isolate() *IsolatedClient { return &IsolatedClient{conn: c} }

// Apply does to the process what the stimulus says. The process must be waiting for that.
func (s *IsolatedClient) Apply(what *Input) {
	c, which := s.conn, int(what.Which)
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

func (s *IsolatedClient) answer(which int, what *Input) {
	c, r := s.conn, s.calls[which]
	s.calls = slices.Delete(s.calls, which, which+1)
	result := *what.Result
	if what.Blind {
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

// Reaction returns what the process has done since the last time, as [Double.Perform] takes it. The
// process must be blocked.
func (s *IsolatedClient) Reaction() (calls []wire.Request, kept []int32, closed bool) {
	c := s.conn
	fresh := c.takeSubmitted()
	old := s.calls
	// What a goroutine does next, when its time has come, is not ordered after this otherwise.
	c.mu.Lock()
	s.calls = slices.DeleteFunc(slices.Clone(old),
		func(r *call) bool { return !slices.Contains(c.waiting, r) })
	c.mu.Unlock()
	if len(s.calls) < len(old) {
		kept = make([]int32, len(s.calls))
		for i, r := range s.calls {
			kept[i] = int32(slices.Index(old, r))
		}
	}
	for _, r := range fresh {
		ask := r.Request
		// The memory is the client's, and the caller keeps the request.
		ask.Ops = slices.Clone(ask.Ops)
		calls, s.calls = append(calls, ask), append(s.calls, r)
	}
	return calls, kept, c.closed.Load()
}

// Awaits returns how many calls of the process wait for an answer, and how many watches have not
// told. The process must be blocked.
func (s *IsolatedClient) Awaits() (calls, watches int) { return len(s.calls), len(s.watches) }

// OpenCalls returns 64 bits over what is open between the process and its client: the calls that
// wait, the watches that have not told, the events that nobody has taken, and what the process can
// ask of the client at once. The process must be blocked.
func (s *IsolatedClient) OpenCalls() uint64 {
	c := s.conn
	h := mix(uint64(c.SessionID()), uint64(c.State())<<32|uint64(len(s.watches)))
	h = mix(h, c.guidCount.Load()<<1|uint64(btoi(c.closed.Load())))
	for _, r := range s.calls {
		h = mix(mix(h, uint64(rank(&r.request))), xxhash.Sum64(encoded(&r.request)))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return mix(h, uint64(len(c.events))<<2|uint64(btoi(c.eventsClosed))<<1|uint64(btoi(c.events != nil)))
}
