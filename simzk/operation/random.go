package operation

import (
	"math"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// A Generator chooses the parts of random requests. It has the methods of [math/rand/v2.Rand] that
// the operations use.
type Generator interface {
	IntN(n int) int
	Int32N(n int32) int32
	Int64N(n int64) int64

	// ValidPath returns one of a few valid paths, so that clients often use the same nodes. Path
	// rarely returns an invalid one. PathOrNull is Path or, rarely, null; it must not be used for
	// persistent watches, because a real server fails when a connection with a persistent watch of
	// a null path ends. PathBelow returns a path other than the root's, which must exist until the
	// end of a run.
	ValidPath() string
	Path() string
	PathOrNull() string
	PathBelow() string
	// Data returns the data of a node.
	Data() []byte
	// Version returns the version on which a write depends: often one that matches.
	Version() int32
	// ACL returns a random ACL, and NewNodeACL one that usually is open.
	ACL() []wire.ACL
	NewNodeACL() []wire.ACL
	// Supports reports what the compared servers have enabled.
	Supports() Features
}

// Features are the features of servers that need a configuration.
type Features struct {
	TTL        bool
	Containers bool
	Super      string // user and password of the superuser; empty if there is none
}

// Open is the ACL that grants everyone all permissions. It must not be changed.
var Open = []wire.ACL{{Perms: wire.PermAll, Scheme: "world", ID: "anyone"}}

// KnownVersion stands for the last observed version of a node in a random request.
const KnownVersion = math.MinInt32

// anyVersion matches every version.
const anyVersion = -1

// Random returns a random request.
func Random(g Generator) *wire.Request {
	return choose(g, func(*Operation) bool { return true })
}

// randomWrite returns a random operation of a multi.
func randomWrite(g Generator) *wire.Request {
	return choose(g, func(o *Operation) bool { return o.Multi == wire.WriteInMulti })
}

// choose returns a random request of the operations that the filter accepts.
func choose(g Generator, accepts func(*Operation) bool) *wire.Request {
	total := 0
	for _, o := range cases {
		if accepts(o) {
			total += o.Weight
		}
	}
	n := g.IntN(total)
	for _, o := range cases {
		if !accepts(o) {
			continue
		}
		if n -= o.Weight; n < 0 {
			return o.Case(g)
		}
	}
	panic("unreachable")
}

// cases are the operations that have cases, in the order of the table.
var cases []*Operation

func init() {
	for _, o := range table {
		if o.Case != nil {
			cases = append(cases, o)
		}
	}
}

// percent returns true with a probability of n percent.
func percent(g Generator, n int) bool { return g.IntN(100) < n }

// oneOf returns a random choice.
func oneOf[T any](g Generator, choices ...T) T { return choices[g.IntN(len(choices))] }
