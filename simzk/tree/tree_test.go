package tree_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// newTree returns a tree after the writes, which are transactions 1, 2, ..., one second apart. All
// must succeed.
func newTree(t testing.TB, rules tree.Rules, writes ...tree.Write) *tree.Tree {
	t.Helper()
	tr := tree.New(rules)
	for i, w := range writes {
		w.Zxid, w.TimeMillis = int64(i+1), int64(1000*(i+1))
		if result := tr.Apply(&w); result.Code != wire.OK {
			t.Fatalf("%+v: %v", w, result.Code)
		}
	}
	return tr
}

// create returns a write that creates a node with the ACL [tree.Open].
func create(path string) tree.Write {
	return tree.Write{Op: wire.OpCreate, Path: path, ACL: tree.Open}
}

// createEphemeral returns a write that creates an ephemeral node of a session.
func createEphemeral(path string, session int64) tree.Write {
	w := create(path)
	w.Flags, w.Session = wire.Ephemeral, session
	return w
}

func createContainer(path string) tree.Write {
	return tree.Write{Op: wire.OpCreateContainer, Path: path, ACL: tree.Open, Flags: wire.Container}
}

func createTTL(path string, millis int64) tree.Write {
	return tree.Write{
		Op: wire.OpCreateTTL, Path: path, ACL: tree.Open, Flags: wire.PersistentTTL,
		TTLMillis: millis,
	}
}

// createFor returns alice's write that creates a node with an ACL.
func createFor(path string, acl ...wire.ACL) tree.Write {
	return tree.Write{Op: wire.OpCreate, Path: path, ACL: acl, Identities: alice}
}

func remove(path string) tree.Write {
	return tree.Write{Op: wire.OpDelete, Path: path, Version: -1}
}

func TestNewTree(t *testing.T) {
	empty := tree.New(tree.Rules{})
	if empty.Size() != 4 {
		t.Errorf("there are %d nodes", empty.Size())
	}
	tests := []struct {
		path     string
		stat     wire.Stat
		children []string
	}{
		{"/", wire.Stat{Cversion: -1, NumChildren: 1}, []string{"zookeeper"}},
		{"/zookeeper", wire.Stat{Cversion: -2, NumChildren: 2}, []string{"config", "quota"}},
		{"/zookeeper/quota", wire.Stat{}, nil},
		{"/zookeeper/config", wire.Stat{Aversion: -1}, nil},
	}
	for _, test := range tests {
		got, listing := empty.Get(test.path, nil), empty.Children(test.path, nil)
		if got.Code != wire.OK || got.Stat != test.stat || got.Data == nil || len(got.Data) > 0 {
			t.Errorf("%s is %+v", test.path, got)
		}
		if slices.Sort(listing.Children); !slices.Equal(listing.Children, test.children) {
			t.Errorf("%s has the children %v", test.path, listing.Children)
		}
	}
	w := tree.Write{Op: wire.OpSetData, Zxid: 1, Path: "/zookeeper/config", Version: -1}
	if code := empty.Apply(&w).Code; code != wire.NoAuth {
		t.Errorf("a client without permission changes the configuration: %v", code)
	}
}

// ZooKeeper stores the root under a second, empty name, so a client that sends an empty path sees
// the root.
func TestEmptyPathIsTheRoot(t *testing.T) {
	tr := newTree(t, tree.Rules{}, create("/a"), create("/a/b"))
	if got, want := tr.Exists("", nil), tr.Exists("/", nil); got.Code != wire.OK ||
		got.Stat != want.Stat {
		t.Errorf("%+v, want %+v", got, want)
	}
	if count, code := tr.Descendants("/", nil); count != 5 || code != wire.OK {
		t.Errorf("the root has %d descendants (%v)", count, code)
	}
	// ZooKeeper counts the root among the descendants of the empty name.
	if count, code := tr.Descendants("", nil); count != 6 || code != wire.OK {
		t.Errorf("the empty path has %d descendants (%v)", count, code)
	}
}

// A null path makes a server fail where a missing node is an answer.
func TestReadsOfNull(t *testing.T) {
	tr := tree.New(tree.Rules{})
	for path, want := range map[string]wire.Code{
		wire.Null: wire.MarshallingError, "/missing": wire.NoNode, "/": wire.OK,
	} {
		_, descendants := tr.Descendants(path, nil)
		for name, got := range map[string]wire.Code{
			"Get": tr.Get(path, nil).Code, "Exists": tr.Exists(path, nil).Code,
			"Children": tr.Children(path, nil).Code, "ACL": tr.ACL(path, nil).Code,
			"Descendants": descendants,
		} {
			if got != want {
				t.Errorf("%s of %q: %q, want %q", name, path, got, want)
			}
		}
	}
}

func TestDescendantsAreBelow(t *testing.T) {
	tr := newTree(t, tree.Rules{}, create("/a"), create("/a/b"), create("/a/b/c"), create("/ab"),
		create("/a/bc"))
	for path, want := range map[string]int{"/a": 3, "/a/b": 1, "/a/b/c": 0, "/ab": 0} {
		if count, code := tr.Descendants(path, nil); count != want || code != wire.OK {
			t.Errorf("%s has %d descendants (%v), want %d", path, count, code, want)
		}
	}
}

// Trees that a client can distinguish differ in their hash.
func TestHashDistinguishesTrees(t *testing.T) {
	base := create("/a")
	variants := []tree.Write{base, base, base, base, base}
	for i := range variants {
		variants[i].Zxid = 1
	}
	variants[1].Path = "/b"
	variants[2].Zxid = 2
	variants[3].Flags, variants[3].Session = wire.Ephemeral, 1
	variants[4].Flags = wire.PersistentSequential
	seen := make(map[uint64]string)
	for _, w := range variants {
		tr := tree.New(tree.Rules{})
		if code := tr.Apply(&w).Code; code != wire.OK {
			t.Fatalf("%+v: %v", w, code)
		}
		text := fmt.Sprintf("%+v", w)
		if other, ok := seen[tr.Hash()]; ok {
			t.Errorf("%s and %s have the same hash", other, text)
		}
		seen[tr.Hash()] = text
	}
}

// Trees that differ in anything that a client can read, except times, differ in their state hash.
func TestStateHashDistinguishesTrees(t *testing.T) {
	withACL := func(acl ...wire.ACL) tree.Write { return createFor("/a", acl...) }
	withData := create("/a")
	withData.Data = []byte("x")
	all := wire.PermAll
	seen := make(map[uint64]int)
	for i, writes := range [][]tree.Write{
		{create("/a")},
		{withData},
		{createEphemeral("/a", 1)},
		{withACL(grant(all, "digest", "alice:a"))},
		{withACL(grant(all, "digest", "alice:b"))},
		{withACL(grant(all, "ip", "10.1.2.3"))},
		{withACL(grant(wire.PermRead, "ip", "10.1.2.3"))},
		{withACL(grant(all, "ip", "10.1.2.3"), grant(all, "digest", "alice:a"))},
		{create("/a"), {Op: wire.OpSetData, Path: "/a", Version: -1}},
		{create("/a"), {Op: wire.OpSetACL, Path: "/a", ACL: tree.Open, Version: -1}},
		{create("/a"), create("/a/b")},
		{create("/a"), create("/a/b"), remove("/a/b")},
		{create("/a"), create("/a/b"), create("/a/b/c"), remove("/a/b/c"), remove("/a/b")},
	} {
		tr, later := newTree(t, tree.Rules{}, writes...), tree.New(tree.Rules{})
		for zxid, w := range writes {
			w.Zxid, w.TimeMillis = int64(zxid+1), 77
			later.Apply(&w)
		}
		if tr.StateHash() != later.StateHash() {
			t.Errorf("tree %d: the hash depends on the time", i)
		}
		if other, ok := seen[tr.StateHash()]; ok {
			t.Errorf("trees %d and %d have the same hash", other, i)
		}
		seen[tr.StateHash()] = i
	}
}

// A tree keeps the last transactions that changed a node's data and its children.
func TestLastChanges(t *testing.T) {
	tr := newTree(t, tree.Rules{}, create("/a"), tree.Write{
		Op: wire.OpSetData, Path: "/a", Version: -1,
	}, create("/a/b"), remove("/a/b"))
	if data, children, ok := tr.LastChanges("/a"); data != 2 || children != 4 || !ok {
		t.Errorf("last changes of /a: %d and %d, %v", data, children, ok)
	}
	if data, children, ok := tr.LastChanges("/a/b"); data != 0 || children != 0 || ok {
		t.Errorf("last changes of a missing node: %d and %d, %v", data, children, ok)
	}
}

// Returned listings are copies, which the caller may modify.
func TestListingsAreCopies(t *testing.T) {
	tr := newTree(t, tree.Rules{}, createEphemeral("/a", 1), createEphemeral("/b", 1),
		createEphemeral("/c", 1))
	listing, owned := tr.Children("/", nil).Children, tr.Ephemerals(1)
	clear(listing)
	clear(owned)
	if got := tr.Children("/", nil).Children; slices.Contains(got, "") || len(got) != 4 {
		t.Errorf("children %q", got)
	}
	if got := tr.Ephemerals(1); !slices.Equal(got, []string{"/a", "/b", "/c"}) {
		t.Errorf("ephemeral nodes %q", got)
	}
}

func TestCloseSession(t *testing.T) {
	tr := newTree(t, tree.Rules{}, create("/a"), createEphemeral("/a/2", 1),
		createEphemeral("/other", 2), createEphemeral("/1", 1),
		create("/b"))
	tr.Apply(&tree.Write{Op: wire.OpCloseSession, Zxid: 6, Session: 1})
	var deleted []string
	for _, change := range tr.Changes() {
		deleted = append(deleted, change.Path)
	}
	if !slices.Equal(deleted, []string{"/a/2", "/1"}) {
		t.Errorf("the end of the session deleted %q", deleted)
	}
	if tr.OwnsNodes(1) || !tr.OwnsNodes(2) || tr.Size() != 7 {
		t.Errorf("the sessions own %q and %q, of %d nodes", tr.Ephemerals(1),
			tr.Ephemerals(2),
			tr.Size())
	}
	for path, want := range map[string]int64{"/a": 6, "/": 6, "/b": 5} {
		if stat, _ := tr.Stat(path); stat.Pzxid != want {
			t.Errorf("pzxid of %s is %d, want %d", path, stat.Pzxid, want)
		}
	}
	before := tr.Hash()
	if again := tr.Apply(&tree.Write{
		Op: wire.OpCloseSession, Zxid: 7,
		Session: 1,
	}); again.Code != wire.OK || len(tr.Changes()) > 0 {
		t.Errorf("closing the session again gave %+v", again)
	}
	if tr.Hash() != before {
		t.Error("closing a session without nodes changed the tree")
	}
}

func TestDisposable(t *testing.T) {
	writes := []tree.Write{
		createContainer("/unused"),
		createContainer("/used"), create("/used/a"), remove("/used/a"),
		createContainer("/full"), create("/full/a"),
		createTTL("/second", 1000),  // at 7 s
		createTTL("/minute", 60000), // at 8 s
		createTTL("/parent", 1000), create("/parent/a"),
		create("/ordinary"), create("/ordinary/a"), remove("/ordinary/a"),
		createTTL("/changed", 1000), // at 14 s, and again at 15 s
		{Op: wire.OpSetData, Path: "/changed", Version: -1},
	}
	tr := newTree(t, tree.Rules{ExtendedTypes: true}, writes...)
	tests := []struct {
		millis int64
		want   []string
	}{
		{8000, []string{"/used"}}, // "/second" has reached its TTL but not exceeded it.
		{8001, []string{"/second", "/used"}},
		{16000, []string{"/second", "/used"}},
		{16001, []string{"/changed", "/second", "/used"}},
		{68001, []string{"/changed", "/minute", "/second", "/used"}},
	}
	for _, test := range tests {
		if got := tr.Disposable(test.millis); !slices.Equal(got, test.want) {
			t.Errorf("at %d ms, %q are due, want %q", test.millis, got, test.want)
		}
	}
	for zxid, path := range tr.Disposable(100000) {
		if code := tr.Apply(&tree.Write{
			Op: wire.OpDeleteContainer, Zxid: int64(100 + zxid),
			Path: path,
		}).Code; code != wire.OK {
			t.Errorf("%s was not deleted: %v", path, code)
		}
	}
	if left := tr.Disposable(100000); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// TestCreatedNodes checks the node that each type and flag create. Only ephemeral nodes have an
// owner.
func TestCreatedNodes(t *testing.T) {
	tests := []struct {
		op     wire.Op
		flags  int32
		path   string // of the new node
		owner  int64
		timed  bool // due after its TTL
		unused bool // due once it has had a child
	}{
		{op: wire.OpCreate, flags: wire.Persistent, path: "/a"},
		{op: wire.OpCreate2, flags: wire.Persistent, path: "/a"},
		{op: wire.OpCreate, flags: wire.Ephemeral, path: "/a", owner: 7},
		{op: wire.OpCreate2, flags: wire.EphemeralSequential, path: "/a0000000000", owner: 7},
		{op: wire.OpCreate, flags: wire.PersistentSequential, path: "/a0000000000"},
		// The type makes the container, not the flags.
		{op: wire.OpCreate, flags: wire.Container, path: "/a"},
		{op: wire.OpCreateContainer, flags: wire.Container, path: "/a", unused: true},
		{op: wire.OpCreateContainer, flags: wire.Ephemeral, path: "/a", unused: true},
		{
			op: wire.OpCreateContainer, flags: wire.PersistentSequential, path: "/a0000000000",
			unused: true,
		},
		{op: wire.OpCreateTTL, flags: wire.PersistentTTL, path: "/a", timed: true},
		{op: wire.OpCreateTTL, flags: wire.PersistentSeqTTL, path: "/a0000000000", timed: true},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%s with flags %d", operation.Name(test.op), test.flags), func(t *testing.T) {
			w := tree.Write{
				Op: test.op, Zxid: 3, TimeMillis: 5, Session: 7, Path: "/a", Data: []byte("xy"),
				ACL: tree.Open, Flags: test.flags,
			}
			if test.timed {
				w.TTLMillis = 100
			}
			tr := tree.New(tree.Rules{ExtendedTypes: true})
			got := tr.Apply(&w)
			want := wire.Stat{
				Czxid: 3, Mzxid: 3, Pzxid: 3, Ctime: 5, Mtime: 5, EphemeralOwner: test.owner,
				DataLength: 2,
			}
			if got.Code != wire.OK || got.Path != test.path || got.Stat != want {
				t.Fatalf("%+v, want %s with %+v", got, test.path, want)
			}
			if tr.OwnsNodes(7) != (test.owner == 7) {
				t.Errorf("the session owns %q", tr.Ephemerals(7))
			}
			if due := tr.Disposable(math.MaxInt32); slices.Contains(due, test.path) != test.timed {
				t.Errorf("%q are due", due)
			}
			if test.owner != 0 {
				return
			}
			child := create(test.path + "/b")
			child.Zxid = 4
			gone := remove(test.path + "/b")
			gone.Zxid = 5
			for _, w := range []*tree.Write{&child, &gone} {
				if code := tr.Apply(w).Code; code != wire.OK {
					t.Fatalf("%s: %v", operation.Name(w.Op), code)
				}
			}
			if due := tr.Disposable(0); slices.Contains(due, test.path) != test.unused {
				t.Errorf("%q are due after the creation and deletion of a child", due)
			}
		})
	}
}

func TestSequence(t *testing.T) {
	tests := []struct {
		name  string
		next  int32
		wraps bool
		want  []string // names, or the error of a failed creation
	}{
		{"from the start", 0, false, []string{"n0000000000", "n0000000001", "n0000000002"}},
		{"ten digits", 999999999, false, []string{"n0999999999", "n1000000000", "n1000000001"}},
		{"stays at the end", math.MaxInt32 - 1, false, []string{
			"n2147483646", "n2147483647",
			"node exists",
		}},
		{"wraps at the end", math.MaxInt32 - 1, true, []string{
			"n2147483646", "n2147483647",
			"n-2147483648", "n-2147483647",
		}},
		{"is negative", math.MinInt32, false, []string{"n-2147483648", "n-2147483647"}},
		{"comes back to zero", -2, true, []string{"n-000000002", "n-000000001", "n0000000000"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tr := newTree(t, tree.Rules{SequenceWraps: test.wraps}, create("/a"))
			if code := tr.SetSequence("/a", test.next); code != wire.OK {
				t.Fatal(code)
			}
			for i, want := range test.want {
				w := create("/a/n")
				w.Zxid, w.Flags = int64(i+2), wire.PersistentSequential
				got := tr.Apply(&w)
				name := tree.Name(got.Path)
				if got.Code != wire.OK {
					name = got.Code.String()
				}
				if name != want {
					t.Errorf("creation %d gave %q, want %q", i, name, want)
				}
			}
		})
	}
	if code := tree.New(tree.Rules{}).SetSequence("/a", 1); code != wire.NoNode {
		t.Errorf("SetSequence of a missing node: %v", code)
	}
}

// At the end of the sequence, servers since 3.6.0 store neither the count nor the transaction of a
// creation.
func TestEndOfSequence(t *testing.T) {
	for _, wraps := range []bool{false, true} {
		tr := newTree(t, tree.Rules{SequenceWraps: wraps}, create("/a"))
		tr.SetSequence("/a", math.MaxInt32)
		child := create("/a/b")
		child.Zxid = 9
		tr.Apply(&child)
		want := wire.Stat{
			Czxid: 1, Mzxid: 1, Pzxid: 1, Ctime: 1000, Mtime: 1000, NumChildren: 1,
			Cversion: -3,
		}
		if wraps {
			want.Pzxid, want.Cversion = 9, -1
		}
		if stat, _ := tr.Stat("/a"); stat != want {
			t.Errorf("sequence wraps %v: %+v, want %+v", wraps, stat, want)
		}
	}
}

func TestApplyPanicsForReads(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Apply does not panic for a read")
		}
	}()
	tree.New(tree.Rules{}).Apply(&tree.Write{Op: wire.OpGetData, Path: "/"})
}
