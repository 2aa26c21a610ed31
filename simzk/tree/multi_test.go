package tree_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

func multi(ops ...wire.Request) *tree.Write {
	return &tree.Write{Op: wire.OpMulti, Zxid: 100, TimeMillis: 7, Session: 1, Ops: ops}
}

func opCreate(path string, flags int32) wire.Request {
	return wire.Request{Op: wire.OpCreate, Path: path, ACL: tree.Open, Flags: flags}
}

func opDelete(path string) wire.Request {
	return wire.Request{Op: wire.OpDelete, Path: path, Version: -1}
}

func opSet(path string, version int32) wire.Request {
	return wire.Request{Op: wire.OpSetData, Path: path, Data: []byte("x"), Version: version}
}

func opCheck(path string, version int32) wire.Request {
	return wire.Request{Op: wire.OpCheck, Path: path, Version: version}
}

// When a multi reaches a create with the flags of a TTL node but no TTL, the whole multi fails and
// changes nothing.
func TestMultiTTLWithoutTTL(t *testing.T) {
	good := wire.Request{Op: wire.OpCreate, Path: "/a", ACL: tree.Open}
	bad := wire.Request{Op: wire.OpCreate, Path: "/b", ACL: tree.Open, Flags: wire.PersistentTTL}
	missing := wire.Request{Op: wire.OpDelete, Path: "/missing", Version: -1}
	for _, test := range []struct {
		name string
		ops  []wire.Request
		want tree.Result
	}{
		{"reached", []wire.Request{good, bad}, tree.Result{Code: wire.MarshallingError}},
		{"not reached", []wire.Request{missing, bad}, tree.Result{
			Code: wire.NoNode,
			Results: []wire.Result{
				{Op: wire.OpError, Code: wire.NoNode},
				{Op: wire.OpError, Code: wire.RuntimeInconsistency},
			},
		}},
	} {
		tr := tree.New(tree.Rules{ExtendedTypes: true})
		before := tr.Hash()
		got := tr.Apply(&tree.Write{Op: wire.OpMulti, Zxid: 1, Ops: test.ops})
		if !equal(got, test.want) || tr.Hash() != before || len(tr.Changes()) > 0 {
			t.Errorf("%s: %+v, want %+v; changes %v", test.name, got, test.want, tr.Changes())
		}
	}
}

// Each operation of a multi sees the effects of the earlier ones.
func TestMulti(t *testing.T) {
	tr := newTree(t, tree.Rules{}, create("/a"))
	created := wire.Stat{Czxid: 100, Mzxid: 100, Pzxid: 100, Ctime: 7, Mtime: 7}
	set, parent := created, created
	set.Version, set.DataLength = 1, 1
	parent.NumChildren, parent.Cversion = 1, 1
	got := tr.Apply(multi(opCreate("/b", wire.Persistent),
		opCreate("/b/n-", wire.PersistentSequential), opCheck("/b", 0),
		opDelete("/b/n-0000000000"), opCreate("/b/n-", wire.PersistentSequential),
		opSet("/b/n-0000000001", 0), opCheck("/b/n-0000000001", 1)))
	want := []wire.Result{
		{Op: wire.OpCreate, Path: "/b", Stat: created},
		{Op: wire.OpCreate, Path: "/b/n-0000000000", Stat: created},
		{Op: wire.OpCheck, Path: "/b", Stat: parent},
		{Op: wire.OpDelete, Path: "/b/n-0000000000", Stat: created},
		{Op: wire.OpCreate, Path: "/b/n-0000000001", Stat: created},
		{Op: wire.OpSetData, Path: "/b/n-0000000001", Stat: set},
		{Op: wire.OpCheck, Path: "/b/n-0000000001", Stat: set},
	}
	if got.Code != wire.OK || !reflect.DeepEqual(got.Results, want) {
		t.Errorf("%v: %+v, want %+v", got.Code, got.Results, want)
	}
	if empty := tr.Apply(multi()); empty.Code != wire.OK || len(empty.Results) > 0 {
		t.Errorf("an empty multi returned %+v", empty)
	}
}

// The flags determine the kind of node that a create in a multi makes.
func TestTypesInMulti(t *testing.T) {
	tests := []struct {
		op    wire.Op
		flags int32
		want  wire.Op // OpError if the multi fails
	}{
		{wire.OpCreate, wire.Ephemeral, wire.OpCreate},
		{wire.OpCreate2, wire.Persistent, wire.OpCreate2},
		{wire.OpCreate, wire.Container, wire.OpCreateContainer},
		{wire.OpCreate2, wire.Container, wire.OpCreateContainer},
		{wire.OpCreateContainer, wire.Container, wire.OpCreateContainer},
		{wire.OpCreateTTL, wire.Container, wire.OpCreateContainer},
		{wire.OpCreateTTL, wire.Persistent, wire.OpCreate},
		{wire.OpCreateTTL, wire.PersistentTTL, wire.OpCreateTTL},
		{wire.OpCreateTTL, wire.PersistentSeqTTL, wire.OpCreateTTL},
		{wire.OpCreateTTL, 7, wire.OpError},
		{wire.OpCreate, 7, wire.OpError},
	}
	for _, test := range tests {
		tr := tree.New(tree.Rules{ExtendedTypes: true})
		r := opCreate("/a", test.flags)
		r.Op, r.TTLMillis = test.op, 10
		got := tr.Apply(multi(r)).Results[0]
		if got.Op != test.want {
			t.Errorf("%s with flags %d gave %+v, want %s", operation.Name(test.op), test.flags, got,
				operation.Name(test.want))
		}
		if due := tr.Disposable(1000); (len(due) > 0) != (test.want == wire.OpCreateTTL) {
			t.Errorf("%s with flags %d: %q are due", operation.Name(test.op), test.flags, due)
		}
	}
}

// A failed multi reports which operation failed and changes nothing.
func TestFailedMulti(t *testing.T) {
	const ok, skipped = wire.OK, wire.RuntimeInconsistency
	fails := opSet("/missing", -1)
	protected := opCreate("/locked/a", wire.Persistent)
	tests := []struct {
		name string
		ops  []wire.Request
		want []wire.Code
	}{
		{"alone", []wire.Request{fails}, []wire.Code{wire.NoNode}},
		{"first", []wire.Request{fails, opDelete("/b"), fails}, []wire.Code{
			wire.NoNode, skipped,
			skipped,
		}},
		{
			"last",
			[]wire.Request{opSet("/a", -1), opCheck("/a", 0)},
			[]wire.Code{ok, wire.BadVersion},
		},
		{
			"after a creation",
			[]wire.Request{opCreate("/new", wire.Persistent), fails},
			[]wire.Code{ok, wire.NoNode},
		},
		{
			"after nested creations",
			[]wire.Request{
				opCreate("/new", wire.Persistent), opCreate("/new/a", wire.Persistent),
				opSet("/new/a", 0), fails,
			},
			[]wire.Code{ok, ok, ok, wire.NoNode},
		},
		{
			"after an ephemeral node",
			[]wire.Request{opCreate("/new", wire.Ephemeral), fails},
			[]wire.Code{ok, wire.NoNode},
		},
		{"after a deletion", []wire.Request{opDelete("/b"), fails}, []wire.Code{ok, wire.NoNode}},
		{
			"after the deletion of an ephemeral node",
			[]wire.Request{opDelete("/a/2"), fails},
			[]wire.Code{ok, wire.NoNode},
		},
		{
			"after the deletion of ephemeral nodes of two sessions",
			[]wire.Request{opDelete("/a/2"), opDelete("/other"), opDelete("/1"), fails},
			[]wire.Code{ok, ok, ok, wire.NoNode},
		},
		{
			"after a replacement",
			[]wire.Request{
				opDelete("/b"), opCreate("/b", wire.Ephemeral), opSet("/b", 0), opDelete("/b"),
				opCreate("/b", wire.Persistent), fails,
			},
			[]wire.Code{ok, ok, ok, ok, ok, wire.NoNode},
		},
		{"after an ephemeral node was recreated", []wire.Request{
			opDelete("/1"),
			opCreate("/1", wire.Ephemeral), fails,
		}, []wire.Code{ok, ok, wire.NoNode}},
		{
			"after data was set",
			[]wire.Request{opSet("/a", 0), opSet("/a", 1), fails},
			[]wire.Code{ok, ok, wire.NoNode},
		},
		{
			"after sequential creations",
			[]wire.Request{
				opCreate("/a/n", wire.PersistentSequential),
				opCreate("/a/n", wire.EphemeralSequential), fails,
			},
			[]wire.Code{ok, ok, wire.NoNode},
		},
		{
			"not empty",
			[]wire.Request{opDelete("/b"), opDelete("/a")},
			[]wire.Code{ok, wire.NotEmpty},
		},
		{
			"exists",
			[]wire.Request{
				opCreate("/new", wire.Persistent), opCreate("/new", wire.Persistent),
				opDelete("/new"),
			},
			[]wire.Code{ok, wire.NodeExists, skipped},
		},
		{
			"child of an ephemeral node",
			[]wire.Request{opCreate("/new", wire.Ephemeral), opCreate("/new/a", wire.Persistent)},
			[]wire.Code{ok, wire.NoChildrenForEphemerals},
		},
		{
			"no authority",
			[]wire.Request{opSet("/a", 0), protected, opDelete("/b")},
			[]wire.Code{ok, wire.NoAuth, skipped},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			writes := []tree.Write{
				create("/a"), createEphemeral("/a/2", 1), createEphemeral("/other", 2),
				createEphemeral("/1", 1), create("/b"),
				createFor("/locked", grant(wire.PermRead, "world", "anyone")),
			}
			tr, untouched := newTree(t, tree.Rules{}, writes...),
				newTree(t, tree.Rules{}, writes...)
			got := tr.Apply(multi(test.ops...))
			var codes []wire.Code
			for _, r := range got.Results {
				if r.Op != wire.OpError {
					t.Errorf("%+v, want an error", r)
				}
				codes = append(codes, r.Code)
				if r.Code != ok && r.Code != skipped && got.Code != r.Code {
					t.Errorf("the multi failed with %q, its operation with %q", got.Code, r.Code)
				}
			}
			if !slices.Equal(codes, test.want) {
				t.Errorf("the operations returned %v, want %v", codes, test.want)
			}
			compareTrees(t, tr, untouched)

			// Later writes see no effect of the failed multi either.
			for zxid, w := range []tree.Write{
				create("/new"),
				{Op: wire.OpCreate, Path: "/a/n", ACL: tree.Open, Flags: wire.PersistentSequential},
				remove("/a/2"),
				{Op: wire.OpCloseSession, Session: 1},
			} {
				w.Zxid = int64(200 + zxid)
				a, b := tr.Apply(&w), untouched.Apply(&w)
				if !equal(a, b) || a.Code != wire.OK {
					t.Errorf("%s then returned %+v, want %+v", operation.Name(w.Op), a, b)
				}
			}
			compareTrees(t, tr, untouched)
		})
	}
}

// compareTrees compares everything readable of two trees.
func compareTrees(t *testing.T, got, want *tree.Tree) {
	t.Helper()
	if got.Hash() != want.Hash() || got.Size() != want.Size() {
		t.Errorf("hash %x of %d nodes, want %x of %d", got.Hash(), got.Size(), want.Hash(),
			want.Size())
	}
	for session := range int64(3) {
		if a, b := got.Ephemerals(session), want.Ephemerals(session); !slices.Equal(a, b) ||
			got.OwnsNodes(session) != want.OwnsNodes(session) {
			t.Errorf("session %d owns %q, want %q", session, a, b)
		}
	}
	paths := []string{"/"}
	for len(paths) > 0 {
		path := paths[0]
		paths = paths[1:]
		a, b := got.Get(path, super), want.Get(path, super)
		if !equal(a, b) {
			t.Errorf("%s is %+v, want %+v", path, a, b)
		}
		if a, b := got.ACL(path, super), want.ACL(path, super); !equal(a, b) {
			t.Errorf("%s has the ACL %+v, want %+v", path, a, b)
		}
		listing := got.Children(path, super)
		if other := want.Children(path, super); !equal(listing, other) {
			t.Errorf("%s is listed as %+v, want %+v", path, listing, other)
		}
		for _, name := range listing.Children {
			if path == "/" {
				paths = append(paths, "/"+name)
			} else {
				paths = append(paths, path+"/"+name)
			}
		}
	}
}
