package models

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// A Store is the state of [Register].
type Store struct {
	Version int64
	Token   int64 // the highest token seen
}

// Register is a resource that checks fencing tokens. It accepts [Read] and [Write] with a token,
// and refuses exactly those with a lower token than the highest one seen. A read returns the
// version, and a write increments it.
var Register = porcupine.Model{
	Init: func() any { return Store{} },
	Step: func(state, input, output any) (bool, any) {
		s, in, out := state.(Store), input.(Input), output.(Output)
		if in.Token < s.Token {
			return out.Refused, s
		}
		next := Store{s.Version, in.Token}
		switch in.Verb {
		case Read:
			return !out.Refused && out.Version == s.Version, next
		case Write:
			next.Version++
			return !out.Refused && out.Version == next.Version, next
		}
		return false, s
	},
	Hash: func(state any) uint64 {
		s := state.(Store)
		return uint64(s.Version) ^ uint64(s.Token)*0x9e3779b97f4a7c15
	},
	DescribeOperation: describe,
	DescribeState: func(state any) string {
		s := state.(Store)
		return fmt.Sprintf("version %d, highest token %d", s.Version, s.Token)
	},
}
