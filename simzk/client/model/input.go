package model

import (
	"github.com/cespare/xxhash/v2"
	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/internal/base/hash64"
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
