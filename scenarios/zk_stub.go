package scenarios

import (
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A zkInitial is the session and the state that a process finds when it starts.
type zkInitial struct {
	session int64 // 0 if the client has none yet
	state   zk.State
}

// Hash returns a hash of both.
func (i zkInitial) Hash() uint64 { return mix(uint64(i.session), uint64(i.state)) }

// Initial returns the session and the state of a model client.
func (z *zkSystem) Initial(client Client) InitialState {
	c := client.(*zkClient)
	return zkInitial{session: c.conn.SessionID(), state: c.conn.State()}
}

// Stub replaces the process of a model client by a stub.
func (z *zkSystem) Stub(client Client) StubClient {
	return &zkStub{stub: client.(*zkClient).conn.(*simzk.Conn).Stub()}
}

// Isolate returns a model client for a process that runs alone.
func (z *zkSystem) Isolate(client Client, begins InitialState) IsolatedClient {
	isolated, initial := client.(*zkClient).conn.(*simzk.Conn).Isolate(), begins.(zkInitial)
	isolated.Apply(&simzk.Input{Kind: simzk.SessionSet, Session: initial.session})
	isolated.Apply(&simzk.Input{Kind: simzk.StateSet, State: initial.state})
	return zkIsolated{isolated}
}

// A zkStub is the stub of a process.
type zkStub struct{ stub *simzk.StubClient }

// Waiting reports whether there are inputs.
func (s *zkStub) Waiting() bool { return len(s.stub.Inputs) > 0 }

// Hash returns a hash of the inputs.
func (s *zkStub) Hash() (h uint64) {
	for i := range s.stub.Inputs {
		h = mix(h, s.stub.Inputs[i].Hash())
	}
	return h
}

// Inputs returns a copy of the inputs that does not change when the calls that they answer do.
func (s *zkStub) Inputs() Inputs {
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
func (s *zkStub) Clear() { s.stub.Inputs = s.stub.Inputs[:0] }

// Perform makes the calls of a reaction.
func (s *zkStub) Perform(reaction Reaction) {
	r := reaction.(*zkReaction)
	s.stub.Perform(r.calls, r.kept, r.closed)
}

// A zkReaction is what a process has asked of its client.
type zkReaction struct {
	calls  []wire.Request // new ones
	kept   []int32        // the earlier calls that are still waited for; nil if all are
	closed bool           // the process has closed the client
}

// Hash returns a hash of the calls that are kept and the number of new ones.
func (r *zkReaction) Hash() (h uint64) {
	for _, which := range r.kept {
		h = mix(h, uint64(which)+1)
	}
	return mix(h, uint64(len(r.calls)))
}

// A zkIsolated is the client of a process that runs alone.
type zkIsolated struct{ *simzk.IsolatedClient }

// Apply gives the process the inputs.
func (s zkIsolated) Apply(inputs Inputs) {
	list := inputs.([]simzk.Input)
	for i := range list {
		s.IsolatedClient.Apply(&list[i])
	}
}

// Reaction returns what the process has asked.
func (s zkIsolated) Reaction() Reaction {
	calls, kept, closed := s.IsolatedClient.Reaction()
	return &zkReaction{calls: calls, kept: kept, closed: closed}
}
