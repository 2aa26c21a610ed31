package models

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// A Fence is the state of [Fenced].
type Fence struct {
	Owner int32
	Token int64 // of the last grant
}

// Fenced is a lock that knows its owner and whose tokens increase strictly from grant to grant. It
// accepts [Acquire], whose output has the token, and [Release].
//
// Source: the fenced mutex of Jepsen's Hazelcast tests.
var Fenced = porcupine.Model{
	Init: func() any { return Fence{} },
	Step: func(state, input, output any) (bool, any) {
		s, in := state.(Fence), input.(Input)
		switch in.Verb {
		case Acquire:
			token := output.(Output).Token
			return s.Owner == 0 && token > s.Token, Fence{in.Process, token}
		case Release:
			return s.Owner == in.Process, Fence{0, s.Token}
		}
		return false, state
	},
	Hash: func(state any) uint64 {
		s := state.(Fence)
		return uint64(s.Owner) ^ uint64(s.Token)*0x9e3779b97f4a7c15
	},
	DescribeOperation: describe,
	DescribeState: func(state any) string {
		s := state.(Fence)
		return fmt.Sprintf("%s, last token %d", describeOwner(s.Owner), s.Token)
	},
}
