package operation_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// ops are all types of requests that package wire names.
var ops = []wire.Op{
	wire.OpNotification, wire.OpCreate, wire.OpDelete, wire.OpExists, wire.OpGetData,
	wire.OpSetData, wire.OpGetACL, wire.OpSetACL, wire.OpGetChildren, wire.OpSync, wire.OpPing,
	wire.OpGetChildren2, wire.OpCheck, wire.OpMulti, wire.OpCreate2, wire.OpReconfig,
	wire.OpCheckWatches, wire.OpRemoveWatches, wire.OpCreateContainer, wire.OpDeleteContainer,
	wire.OpCreateTTL, wire.OpMultiRead, wire.OpAuth, wire.OpSetWatches, wire.OpSASL,
	wire.OpGetEphemerals, wire.OpGetAllChildrenNumber, wire.OpSetWatches2, wire.OpAddWatch,
	wire.OpWhoAmI, wire.OpCreateSession, wire.OpCloseSession, wire.OpError,
}

// TestNames checks that every type has a row with a name of its own and that unknown types show
// their number.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, op := range ops {
		name := operation.Name(op)
		if seen[name] || strings.HasPrefix(name, "op ") {
			t.Errorf("%d is named %q", op, name)
		}
		seen[name] = true
	}
	for op, want := range map[wire.Op]string{
		55: "op 55", -17: "op -17", 239: "op 239", 240: "op 240", -1 << 31: "op -2147483648",
	} {
		if got := operation.Name(op); got != want {
			t.Errorf("%d is named %q, want %q", op, got, want)
		}
		if o := operation.Of(op); o.Execute != nil || o.Write || len(o.Request) > 0 {
			t.Errorf("the unknown operation %d has the row %+v", op, o)
		}
	}
}

// TestVerbs checks the names of requests in histories: those that locks send, a request that sets a
// watch, and one without a name of its own there.
func TestVerbs(t *testing.T) {
	for _, test := range []struct {
		request wire.Request
		want    string
	}{
		{wire.Request{Op: wire.OpCreateSession}, "connect"},
		{wire.Request{Op: wire.OpCloseSession}, "close"},
		{wire.Request{Op: wire.OpCreate}, "create"},
		{wire.Request{Op: wire.OpCreate2}, "create"},
		{wire.Request{Op: wire.OpDelete}, "delete"},
		{wire.Request{Op: wire.OpSetData}, "set"},
		{wire.Request{Op: wire.OpGetData}, "get"},
		{wire.Request{Op: wire.OpGetData, Watch: true}, "get+watch"},
		{wire.Request{Op: wire.OpExists}, "exists"},
		{wire.Request{Op: wire.OpExists, Watch: true}, "exists+watch"},
		{wire.Request{Op: wire.OpGetChildren}, "children"},
		{wire.Request{Op: wire.OpGetChildren2, Watch: true}, "children+watch"},
		{wire.Request{Op: wire.OpSetWatches}, "set-watches"},
		{wire.Request{Op: wire.OpSetWatches2}, "set-watches"},
		{wire.Request{Op: wire.OpMulti}, "multi"},
		{wire.Request{Op: 55}, "op 55"},
	} {
		if got := operation.Verb(&test.request); got != test.want {
			t.Errorf("%s, watch %t: verb %q, want %q", operation.Name(test.request.Op),
				test.request.Watch, got, test.want)
		}
	}
}

// TestWritesAreTheTrees checks that the tree applies exactly the writes that the table commits
// unchanged, and that every operation of a multi of writes is one of them.
func TestWritesAreTheTrees(t *testing.T) {
	for _, op := range ops {
		o := operation.Of(op)
		if o.Multi == wire.WriteInMulti && !applies(op) {
			t.Errorf("%s may be in a multi, but the tree does not apply it", o.Name)
		}
		own := []wire.Op{wire.OpReconfig, wire.OpCloseSession} // They are no requests for the tree.
		if o.Write != applies(op) && !slices.Contains(own, op) {
			t.Errorf("%s: write %t, but the tree applies it: %t", o.Name, o.Write, applies(op))
		}
	}
}

// applies reports whether the tree applies writes of a type.
func applies(op wire.Op) (applied bool) {
	defer func() { applied = recover() == nil }()
	tree.New(tree.Rules{}).Apply(&tree.Write{Op: op})
	return true
}

// TestRandom checks that random requests can be encoded, are decoded as the same request, and are
// of every type that has a weight.
func TestRandom(t *testing.T) {
	g := plain{rand.New(rand.NewPCG(1, 2))}
	seen := map[wire.Op]bool{}
	for range 5000 {
		r := operation.Random(g)
		seen[r.Op] = true
		frame := operation.AppendRequest(nil, r)
		var decoded wire.Request
		if err := operation.DecodeRequest(frame, &decoded); err != nil {
			if r.Op == wire.OpMulti || r.Op == wire.OpMultiRead {
				continue // Some mix reads and writes.
			}
			t.Fatalf("%+v: %v", r, err)
		}
		if again := operation.AppendRequest(nil, &decoded); string(again) != string(frame) {
			t.Fatalf("%+v is decoded as %+v", r, decoded)
		}
	}
	for _, op := range ops {
		if o := operation.Of(op); (o.Weight > 0) != (o.Case != nil) || o.Weight > 0 && !seen[op] {
			t.Errorf("%s: weight %d, case %t, generated %t", o.Name, o.Weight, o.Case != nil,
				seen[op])
		}
	}
}

// A plain generator chooses fixed parts.
type plain struct{ *rand.Rand }

func (g plain) ValidPath() string      { return fmt.Sprint("/", g.IntN(3)) }
func (g plain) Path() string           { return g.ValidPath() }
func (g plain) PathOrNull() string     { return g.ValidPath() }
func (g plain) PathBelow() string      { return g.ValidPath() }
func (g plain) Data() []byte           { return []byte("x") }
func (g plain) Version() int32         { return -1 }
func (g plain) ACL() []wire.ACL        { return operation.Open }
func (g plain) NewNodeACL() []wire.ACL { return operation.Open }

func (g plain) Supports() operation.Features {
	return operation.Features{TTL: true, Containers: true, Super: "super:test"}
}
