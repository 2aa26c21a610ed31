package tree_test

import (
	"testing"

	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// BenchmarkCreateDelete measures creating and deleting a sequential node, as clients of locks do.
func BenchmarkCreateDelete(b *testing.B) {
	tr := newTree(b, tree.Rules{}, create("/lock"))
	w := tree.Write{
		Zxid: 1, Session: 1, ACL: tree.Open, Flags: wire.EphemeralSequential,
		Version: -1,
	}
	b.ReportAllocs()
	for b.Loop() {
		w.Op, w.Path = wire.OpCreate, "/lock/n-"
		w.Zxid++
		created := tr.Apply(&w)
		w.Op, w.Path = wire.OpDelete, created.Path
		w.Zxid++
		if code := tr.Apply(&w).Code; code != wire.OK {
			b.Fatal(code)
		}
	}
}
