package models

import "github.com/anishathalye/porcupine"

// A queueState is the state of [Queue].
type queueState struct {
	waiting processList // in the order of entry, the holder first
	held    bool        // by the first
}

// Queue is a lock with a FIFO queue: only the head of the queue may be granted the lock, and a
// process may leave whether it holds the lock or not. Linearizability then implies that grants have
// the order of the entries of the processes that stayed. It accepts [Enter], [Grant] and [Leave]. A
// process is in the queue at most once.
var Queue = porcupine.Model{
	Init: func() any { return queueState{} },
	Step: func(state, input, _ any) (bool, any) {
		s, in := state.(queueState), input.(Input)
		place := s.waiting.index(in.Process)
		switch in.Verb {
		case Enter:
			return place < 0, queueState{s.waiting.with(s.waiting.len(), in.Process), s.held}
		case Grant:
			return place == 0 && !s.held, queueState{s.waiting, true}
		case Leave:
			if place >= 0 {
				return true, queueState{s.waiting.without(place), s.held && place != 0}
			}
		}
		return false, state
	},
	Hash:              func(state any) uint64 { return state.(queueState).waiting.hash() },
	DescribeOperation: describe,
	DescribeState: func(state any) string {
		s := state.(queueState)
		switch {
		case s.waiting == "":
			return "empty"
		case s.held:
			return "held by the first of " + s.waiting.String()
		}
		return "free, queue " + s.waiting.String()
	},
}
