package models

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// Owner is a lock that knows its owner, which is its state as an int32, 0 for none. A process may
// acquire it while it is free, and only its owner may release it. It accepts [Acquire] and
// [Release].
//
// Source: the owner-aware mutex of Jepsen's Hazelcast tests.
var Owner = porcupine.Model{
	Init: func() any { return int32(0) },
	Step: func(state, input, _ any) (bool, any) {
		owner, in := state.(int32), input.(Input)
		switch in.Verb {
		case Acquire:
			return owner == 0, in.Process
		case Release:
			return owner == in.Process, int32(0)
		}
		return false, state
	},
	Hash:              func(state any) uint64 { return uint64(state.(int32)) },
	DescribeOperation: describe,
	DescribeState:     func(state any) string { return describeOwner(state.(int32)) },
}

func describeOwner(owner int32) string {
	if owner != 0 {
		return fmt.Sprintf("owned by c%d", owner)
	}
	return "free"
}
