package models

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// A Nesting is the state of [Reentrant].
type Nesting struct {
	Owner int32
	Depth int32
}

// Reentrant is a lock that its owner may acquire again, and that is free after as many releases. It
// accepts [Acquire] and [Release].
var Reentrant = porcupine.Model{
	Init: func() any { return Nesting{} },
	Step: func(state, input, _ any) (bool, any) {
		s, in := state.(Nesting), input.(Input)
		switch in.Verb {
		case Acquire:
			return s.Owner == 0 || s.Owner == in.Process, Nesting{in.Process, s.Depth + 1}
		case Release:
			if s.Depth == 1 {
				return s.Owner == in.Process, Nesting{}
			}
			return s.Owner == in.Process, Nesting{s.Owner, s.Depth - 1}
		}
		return false, state
	},
	Hash: func(state any) uint64 {
		s := state.(Nesting)
		return uint64(s.Owner)<<32 | uint64(s.Depth)
	},
	DescribeOperation: describe,
	DescribeState: func(state any) string {
		s := state.(Nesting)
		if s.Depth < 2 {
			return describeOwner(s.Owner)
		}
		return fmt.Sprintf("%s, %d times", describeOwner(s.Owner), s.Depth)
	},
}
