package zookeeper

import (
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/sim"
	"github.com/interlock-sim/interlock/simzk/client/model"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// An initialState is the session and the state that a process finds when it starts.
type initialState struct {
	session int64 // 0 if the client has none yet
	state   zk.State
}

// Hash returns a hash of both.
func (i initialState) Hash() uint64 { return hash64.Mix(uint64(i.session), uint64(i.state)) }

// Initial returns the session and the state of a model client.
func (z *System) Initial(of sim.Client) sim.InitialState {
	c := of.(*processClient)
	return initialState{session: c.conn.SessionID(), state: c.conn.State()}
}

// Stub replaces the process of a model client by a stub.
func (z *System) Stub(of sim.Client) sim.StubClient {
	return &stub{stub: of.(*processClient).conn.(*model.Conn).Stub(), system: z}
}

// Isolate makes a model client that of a process that runs alone.
func (z *System) Isolate(of sim.Client, begins sim.InitialState) sim.IsolatedClient {
	alone, initial := of.(*processClient).conn.(*model.Conn).Isolate(), begins.(initialState)
	alone.Apply(&model.Input{Kind: model.SessionSet, Session: initial.session})
	alone.Apply(&model.Input{Kind: model.StateSet, State: initial.state})
	return isolated{alone}
}

// A stub is the stub of a process.
type stub struct {
	stub   *model.Stub
	system *System
}

// Waiting reports whether there are inputs.
func (s *stub) Waiting() bool { return len(s.stub.Inputs) > 0 }

// Hash returns a hash of the inputs.
func (s *stub) Hash() (h uint64) {
	for i := range s.stub.Inputs {
		h = hash64.Mix(h, s.stub.Inputs[i].Hash())
	}
	return h
}

// Inputs returns a copy of the inputs that does not change when the calls that they answer do.
func (s *stub) Inputs() sim.Inputs {
	inputs := slices.Clone(s.stub.Inputs)
	for i := range inputs {
		if r := inputs[i].Result; r != nil {
			result := *r
			result.Results = slices.Clone(r.Results)
			inputs[i].Result = &result
		}
	}
	return inputs
}

// Clear forgets the inputs.
func (s *stub) Clear() { s.stub.Inputs = s.stub.Inputs[:0] }

// Perform makes the calls of a reaction.
func (s *stub) Perform(what sim.Reaction) {
	r := what.(*reaction)
	if r.connects {
		s.system.connects = true
	}
	s.stub.Perform(r.calls, r.kept, r.closed)
}

// A reaction is what a process has asked of its client.
type reaction struct {
	calls  []wire.Request // new ones
	kept   []int32        // the earlier calls that are still waited for; nil if all are
	closed bool           // the process has closed the client
	// The process has opened a further client, which a stub does not have.
	connects bool
}

// noReaction is the reaction of a process that asks for nothing, which most are.
var noReaction = new(reaction)

// Hash returns a hash of the calls that are kept and the number of new ones.
func (r *reaction) Hash() (h uint64) {
	for _, which := range r.kept {
		h = hash64.Mix(h, uint64(which)+1)
	}
	return hash64.Mix(h, uint64(len(r.calls)))
}

// An isolated is the [sim.IsolatedClient] of a model client.
type isolated struct{ *model.Isolated }

// Apply gives the process the inputs, up to the first one for which it does not wait.
func (s isolated) Apply(inputs sim.Inputs) (awaited bool) {
	list := inputs.([]model.Input)
	for i := range list {
		if !s.Isolated.Apply(&list[i]) {
			return false
		}
	}
	return true
}

// Reaction returns what the process has asked.
func (s isolated) Reaction() sim.Reaction {
	calls, kept, closed := s.Isolated.Reaction()
	connects := s.Isolated.Connects()
	if calls == nil && kept == nil && !closed && !connects {
		return noReaction
	}
	return &reaction{calls: calls, kept: kept, closed: closed, connects: connects}
}
