package models

import "github.com/anishathalye/porcupine"

// Mutex is a lock that does not know its owner: any process may acquire it while it is free, and
// release it while it is held. It accepts [Acquire] and [Release].
var Mutex = porcupine.Model{
	Init: func() any { return false },
	Step: func(state, input, _ any) (bool, any) {
		held := state.(bool)
		switch input.(Input).Verb {
		case Acquire:
			return !held, true
		case Release:
			return held, false
		}
		return false, state
	},
	Hash: func(state any) uint64 {
		if state.(bool) {
			return 1
		}
		return 0
	},
	DescribeOperation: describe,
	DescribeState: func(state any) string {
		if state.(bool) {
			return "held"
		}
		return "free"
	},
}
