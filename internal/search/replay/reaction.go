package replay

import (
	"reflect"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/sim"
)

// A reaction is what a process does after an input, and what is visible of it then.
type reaction struct {
	initial *initialState // of the process
	events  []history.Event
	client  sim.Reaction // what the process asks of its client

	engine.ProcessState
	acts        bool // others may notice the reaction
	listens     bool // see [sim.IsolatedClient]
	holds       bool
	ownResource bool            // the hold has a resource of its own
	register    engine.Register // as the process left it, if its gate opened

	openCalls                  uint64 // hash of the open calls and watches of the client
	unanswered, unfiredWatches int    // of that, the calls and the watches
	dead                       bool   // all goroutines of the process have ended

	outside uint64 // hash of what is visible of the process from outside
	reacts  uint64 // the same, with what it has done; by these hashes local histories are compared
}

// computeHashes computes the hashes of a reaction. If a gate opened, the reaction covers the
// register.
func (r *reaction) computeHashes(resumes bool) {
	flags := uint64(0)
	for i, flag := range [...]bool{
		r.Waiting, r.Cancelled, r.holds, r.ownResource, r.Lost, r.Over, r.dead,
	} {
		if flag {
			flags |= 1 << i
		}
	}
	looks := hash64.Mix(uint64(r.Stage)<<40|uint64(r.Gate)<<32|uint64(uint32(r.Attempt)), flags)
	r.outside = hash64.Mix(hash64.Mix(looks, r.openCalls), r.initial.hash())
	does := hash64.Mix(r.outside, history.NewLog(r.events).Hash())
	does = hash64.Mix(hash64.Mix(does, r.client.Hash()), xxhash.Sum64String(r.Panics))
	if resumes {
		does = r.register.Key(does)
	}
	r.reacts = does
}

// reached reports whether code of the process may have run between two reactions, the second of
// which follows on inputs from the client: a call has returned, a watch has fired, or the process
// listens to the client.
func (r *reaction) reached(next *reaction) bool {
	return r.listens || next.acts || r.unanswered != next.unanswered ||
		r.unfiredWatches != next.unfiredWatches
}

// equal reports whether two reactions are the same in everything, and not only in their hashes.
func (r *reaction) equal(other *reaction) bool {
	return r.initial == other.initial && r.ProcessState == other.ProcessState &&
		r.acts == other.acts && r.listens == other.listens && r.holds == other.holds &&
		r.ownResource == other.ownResource &&
		r.register == other.register && r.openCalls == other.openCalls &&
		r.unanswered == other.unanswered && r.unfiredWatches == other.unfiredWatches &&
		r.dead == other.dead && r.outside == other.outside && r.reacts == other.reacts &&
		slices.Equal(r.events, other.events) &&
		reflect.DeepEqual(r.client, other.client)
}
