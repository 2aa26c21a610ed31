package tree_test

import (
	"testing"

	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// The numbers that stand in directories of lock nodes are made and removed all the time.
func BenchmarkCreateDelete(b *testing.B) {
	grown := grow(b, tree.Rules{}, create("/lock"))
	w := tree.Write{
		Zxid: 1, Session: 1, ACL: tree.Open, Flags: wire.EphemeralSequential,
		Version: -1,
	}
	b.ReportAllocs()
	for b.Loop() {
		w.Op, w.Path = wire.OpCreate, "/lock/n-"
		w.Zxid++
		created := grown.Apply(&w)
		w.Op, w.Path = wire.OpDelete, created.Path
		w.Zxid++
		if code := grown.Apply(&w).Code; code != wire.OK {
			b.Fatal(code)
		}
	}
}
