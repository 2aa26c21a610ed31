package simzk_test

import (
	"testing"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A recursive watch fires for descendants, also if it is the only watch, and a persistent one for
// its own path only.
func TestWatchesOfDescendants(t *testing.T) {
	for mode, want := range map[int32]int{
		wire.RecursiveWatch:  2, // the creation of the descendant, and the change of its data
		wire.PersistentWatch: 1, // the change of its children
	} {
		c := simzk.New(simzk.Config{}, nil)
		c.Prepare(&tree.Write{Op: wire.OpCreate, Path: "/a", ACL: tree.Open})
		_, watcher := enter(t, c, 0, 0, make([]byte, 16))
		_, writer := enter(t, c, 0, 0, make([]byte, 16))
		serve := func(l *simzk.Link, r *wire.Request) {
			if err := c.Receive(l, operation.AppendRequest(nil, r)); err != nil {
				t.Fatal(err)
			}
			c.Serve(l)
			c.Deliver(l)
		}
		serve(watcher, &wire.Request{Op: wire.OpAddWatch, Path: "/a", Mode: mode})
		serve(writer, &wire.Request{Op: wire.OpCreate, Path: "/a/b", ACL: tree.Open})
		serve(writer, &wire.Request{Op: wire.OpSetData, Path: "/a/b", Version: -1})
		events := 0
		for ; watcher.EventNext(); events++ {
			c.Deliver(watcher)
		}
		if events != want {
			t.Errorf("mode %d: %d events, want %d", mode, events, want)
		}
	}
}
