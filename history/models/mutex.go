package models

import "github.com/anishathalye/porcupine"

// Mutex is a lock that does not know who has it: it may be acquired while it is free, and released
// by anybody while it is not. It takes [Acquire] and [Release].
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
