package tree_test

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A machine applies the same writes to two trees and to the model.
type machine struct {
	tree, replica *tree.Tree
	model         *model
	zxid          int64

	saved []*savedMachine // in the order in which they were
	spare []*savedMachine // whose memory can be reused
}

// A savedMachine is a machine at the time of its snapshots.
type savedMachine struct {
	model     *model
	hash      uint64 // of the tree
	snapshots [2]tree.Snapshot
}

// mostly returns a generator that draws from usual nine times out of ten.
func mostly[T any](usual, unusual *rapid.Generator[T]) *rapid.Generator[T] {
	return rapid.Custom(func(t *rapid.T) T {
		if rapid.IntRange(0, 9).Draw(t, "unusual") == 9 {
			return unusual.Draw(t, "value")
		}
		return usual.Draw(t, "value")
	})
}

func grant(perms int32, scheme, id string) wire.ACL {
	return wire.ACL{Perms: perms, Scheme: scheme, ID: id}
}

var (
	super = []wire.Identity{tree.Super}
	alice = []wire.Identity{{Scheme: "ip", ID: "10.1.2.3"}, {Scheme: "digest", ID: "alice:a"}}
	bob   = []wire.Identity{{Scheme: "ip", ID: "192.168.1.1"}, {Scheme: "digest", ID: "bob:b"}}

	// somePath draws paths of a few short names, so that writes often share nodes.
	somePath = rapid.StringMatching(`(/[ab]){1,3}`)
	oddPath  = rapid.SampledFrom([]string{
		"", "a", "/", "//", "/a/", "/./a", "/a/..", "/a\x00",
		"/a\x1f", "/a//b", "/zookeeper",
	})

	someIdentities = rapid.SampledFrom([][]wire.Identity{
		nil, alice, alice, alice, bob, append(slices.Clone(alice), bob...), super,
		append(slices.Clone(alice), tree.Super),
	})
	someACL    = mostly(rapid.Just(tree.Open), unusualACL)
	unusualACL = rapid.SampledFrom([][]wire.ACL{
		{grant(wire.PermAll, "digest", "alice:a")},
		{grant(wire.PermRead, "world", "anyone"), grant(wire.PermAll, "digest", "bob:b")},
		{grant(wire.PermAll&^wire.PermAdmin, "ip", "10.1.2.3"), grant(wire.PermAdmin, "digest",
			"bob:b")},
		{grant(wire.PermAll&^wire.PermRead, "ip", "10.0.0.0/8")},
		{grant(wire.PermAll, "auth", "")},
		{grant(wire.PermRead, "auth", "whoever"), grant(wire.PermCreate|wire.PermDelete, "world",
			"anyone")},
		{
			grant(wire.PermRead, "world", "anyone"), grant(wire.PermRead, "world", "anyone"),
			grant(wire.PermWrite, "world", "anyone"),
		},
		nil,
		{grant(wire.PermAll, "world", "nobody")},
		{grant(wire.PermAll, "digest", "alice")},
		{grant(wire.PermAll, "ip", "10.1.2.3/33"), grant(wire.PermAll, "world", "anyone")},
		{grant(wire.PermAll, "x509", "alice:a")},
	})
	someTTL = mostly(rapid.Int64Range(1, 9000),
		rapid.SampledFrom([]int64{-1, 0, 1<<40 - 1, 1 << 40}))

	anyFlags    = rapid.Int32Range(-1, 7)
	createFlags = rapid.Int32Range(wire.Persistent, wire.EphemeralSequential)
	timedFlags  = rapid.Int32Range(wire.PersistentTTL, wire.PersistentSeqTTL)
)

// existing returns a generator of paths of existing nodes. It rarely draws ZooKeeper's own nodes.
func (m *machine) existing() *rapid.Generator[string] {
	paths := slices.Sorted(maps.Keys(m.model.nodes))
	builtin := []string{"/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"}
	written := slices.DeleteFunc(slices.Clone(paths),
		func(path string) bool { return slices.Contains(builtin, path) })
	if len(written) == 0 {
		return rapid.SampledFrom(builtin)
	}
	return mostly(rapid.SampledFrom(written), rapid.SampledFrom(builtin))
}

// request draws a request of a write that has a path.
func (m *machine) request(t *rapid.T, op wire.Op) wire.Request {
	r := wire.Request{Op: op, Version: -1}
	switch op {
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		r.Path = mostly(somePath, oddPath).Draw(t, "path")
		r.ACL = someACL.Draw(t, "ACL")
		flags := createFlags
		if op == wire.OpCreateTTL {
			flags = timedFlags
			r.TTLMillis = someTTL.Draw(t, "TTL")
		}
		r.Flags = mostly(flags, anyFlags).Draw(t, "flags")
	default:
		r.Path = mostly(rapid.OneOf(m.existing(), somePath), oddPath).Draw(t, "path")
		r.Version = mostly(rapid.Just[int32](-1), rapid.Int32Range(-1, 2)).Draw(t, "version")
		if op == wire.OpSetACL {
			r.ACL = rapid.OneOf(someACL, unusualACL).Draw(t, "ACL")
		}
	}
	if data := rapid.StringN(0, 2, -1).Draw(t, "data"); data != "" {
		r.Data = []byte(data)
	}
	return r
}

func (m *machine) multi(t *rapid.T) {
	r := wire.Request{Op: wire.OpMulti}
	for range rapid.IntRange(0, 5).Draw(t, "operations") {
		op := rapid.SampledFrom([]wire.Op{
			wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL, wire.OpDelete,
			wire.OpSetData, wire.OpCheck,
		}).Draw(t, "operation")
		r.Ops = append(r.Ops, m.request(t, op))
	}
	m.write(t, &r)
}

// write applies a write to the trees and the model and compares the results.
func (m *machine) write(t *rapid.T, r *wire.Request) {
	m.zxid++
	w := write(r)
	w.Zxid, w.TimeMillis = m.zxid, 1000*m.zxid
	w.Session, w.Identities = rapid.Int64Range(1, 2).Draw(t, "session"),
		someIdentities.Draw(t, "identities")
	before := m.tree.Hash()
	got, replica, want := m.tree.Apply(w), m.replica.Apply(w), m.model.apply(w)
	if !equal(got, replica) {
		t.Fatalf("the same write returned %+v and %+v", got, replica)
	}
	if !equal(got, want) {
		t.Fatalf("%+v returned\n%+v, want\n%+v", w, got, want)
	}
	changed := m.tree.Hash() != before
	switch {
	case got.Code != wire.OK || w.Op == wire.OpCheck:
		if changed {
			t.Fatalf("%+v changed the hash", w)
		}
	// These may have no effect, or undo their own changes.
	case w.Op == wire.OpMulti || w.Op == wire.OpCloseSession:
	case !changed:
		t.Fatalf("%+v did not change the hash", w)
	}
}

func equal(a, b tree.Result) bool {
	return a.Code == b.Code && a.Path == b.Path && a.Stat == b.Stat &&
		bytes.Equal(a.Data, b.Data) &&
		slices.Equal(a.Children, b.Children) && slices.Equal(a.ACL, b.ACL) &&
		reflect.DeepEqual(a.Results, b.Results)
}

func (m *machine) deleteContainer(t *rapid.T) {
	r := m.request(t, wire.OpDeleteContainer)
	if due := m.model.disposable(1000 * m.zxid); len(due) > 0 {
		r.Path = rapid.SampledFrom(due).Draw(t, "due")
	}
	m.write(t, &r)
}

func (m *machine) setSequence(t *rapid.T) {
	path := rapid.OneOf(somePath, rapid.Just("/")).Draw(t, "path")
	n := rapid.SampledFrom([]int32{math.MaxInt32, math.MaxInt32 - 1, -1, math.MinInt32}).Draw(t,
		"number")
	want := wire.NoNode
	if node := m.model.nodes[path]; node != nil {
		node.sequence, node.sequenceSet, want = n, true, wire.OK
	}
	if a, b := m.tree.SetSequence(path, n), m.replica.SetSequence(path, n); a != want || b != want {
		t.Fatalf("SetSequence(%q) returned %v and %v, want %v", path, a, b, want)
	}
}

// read compares the results of all reads of a node, with or without permission.
func (m *machine) read(t *rapid.T) {
	ids := someIdentities.Draw(t, "identities")
	path := mostly(rapid.OneOf(m.existing(), somePath), oddPath).Draw(t, "path")
	if path == "" {
		path = "/" // The empty path is the root; see TestEmptyPathIsTheRoot.
	}
	n := m.model.nodes[path]
	code := func(perms int32) wire.Code {
		switch {
		case n == nil:
			return wire.NoNode
		case perms != 0 && !allowed(n.acl, ids, perms):
			return wire.NoAuth
		}
		return wire.OK
	}
	exists := code(0)
	if m.model.rules.ExistsNeedsRead {
		exists = code(wire.PermRead)
	}
	got, acl := m.tree.Get(path, ids), m.tree.ACL(path, ids)
	count, counted := m.tree.Descendants(path, ids)
	want := map[string]wire.Code{
		"Get": code(wire.PermRead), "Children": code(wire.PermRead),
		"Descendants": code(wire.PermRead), "Exists": exists,
		"ACL": code(wire.PermRead | wire.PermAdmin),
	}
	codes := map[string]wire.Code{
		"Get": got.Code, "Children": m.tree.Children(path, ids).Code,
		"Descendants": counted, "Exists": m.tree.Exists(path, ids).Code, "ACL": acl.Code,
	}
	if !maps.Equal(codes, want) {
		t.Fatalf("reads as %+v of %q returned %v, want %v", ids, path, codes, want)
	}
	if got.Code == wire.OK && (string(got.Data) != n.data || count != m.model.descendants(path)) {
		t.Fatalf("%q has %q and %d descendants, want %q and %d", path, got.Data, count, n.data,
			m.model.descendants(path))
	}
	if acl.Code == wire.OK {
		shown := n.acl
		if !allowed(n.acl, ids, wire.PermAdmin) {
			shown = masked(shown)
		}
		if !slices.Equal(acl.ACL, shown) {
			t.Fatalf("%+v sees the ACL %+v, want %+v", ids, acl.ACL, shown)
		}
	}
}

// check compares everything readable of the tree with the model.
func (m *machine) check(t *rapid.T) {
	if m.tree.Hash() != m.replica.Hash() || m.tree.StateHash() != m.replica.StateHash() {
		t.Fatal("the same writes gave different hashes")
	}
	if m.tree.Size() != len(m.model.nodes) {
		t.Fatalf("there are %d nodes, want %d", m.tree.Size(), len(m.model.nodes))
	}
	for path := range m.model.nodes {
		m.checkNode(t, path)
	}
	for session := int64(1); session <= 3; session++ {
		want := m.model.ephemerals(session)
		if got, replica := m.tree.Ephemerals(session),
			m.replica.Ephemerals(session); !slices.Equal(got,
			want) || !slices.Equal(replica, want) {
			t.Fatalf("session %d owns %v and %v, want %v", session, got, replica, want)
		}
		if m.tree.OwnsNodes(session) != (len(want) > 0) {
			t.Fatalf("session %d owns %v, but OwnsNodes disagrees", session, want)
		}
	}
	for _, now := range []int64{1000 * m.zxid, 1000*m.zxid + 5000} {
		if got, want := m.tree.Disposable(now), m.model.disposable(now); !slices.Equal(got, want) {
			t.Fatalf("at %d, %v are due, want %v", now, got, want)
		}
	}
}

func (m *machine) checkNode(t *rapid.T, path string) {
	n, want := m.model.nodes[path], m.model.stat(path)
	got, listing, acl := m.tree.Get(path, super), m.tree.Children(path, super),
		m.tree.ACL(path, super)
	for _, stat := range []wire.Stat{
		got.Stat, listing.Stat, acl.Stat,
		m.tree.Exists(path, super).Stat,
	} {
		if stat != want {
			t.Fatalf("%s has stat %+v, want %+v", path, stat, want)
		}
	}
	if stat, ok := m.tree.Stat(path); !ok || stat != want {
		t.Fatalf("%s has stat %+v, want %+v", path, stat, want)
	}
	if string(got.Data) != n.data || !slices.Equal(acl.ACL, n.acl) {
		t.Fatalf("%s has %q and %+v, want %q and %+v", path, got.Data, acl.ACL, n.data, n.acl)
	}
	if !slices.Equal(listing.Children, m.replica.Children(path, super).Children) {
		t.Fatalf("the trees list the children of %s in different orders", path)
	}
	if slices.Sort(listing.Children); !slices.Equal(listing.Children, m.model.children(path)) {
		t.Fatalf("%s has children %v, want %v", path, listing.Children, m.model.children(path))
	}
}

// several repeats an action one to four times.
func several(t *rapid.T, action func(*rapid.T)) {
	for range rapid.IntRange(1, 4).Draw(t, "times") {
		action(t)
	}
}

func (m *machine) save(*rapid.T) {
	s := new(savedMachine)
	if last := len(m.spare) - 1; last >= 0 {
		s, m.spare = m.spare[last], m.spare[:last]
	}
	m.tree.Save(&s.snapshots[0])
	m.replica.Save(&s.snapshots[1])
	s.model, s.hash = m.model.clone(), m.tree.Hash()
	m.saved = append(m.saved, s)
}

func (m *machine) restore(t *rapid.T) {
	if len(m.saved) == 0 {
		t.Skip("there is no snapshot")
	}
	at := rapid.IntRange(0, len(m.saved)-1).Draw(t, "snapshot")
	s := m.saved[at]
	m.spare = append(m.spare, m.saved[at+1:]...)
	m.saved = m.saved[:at+1]
	m.tree.Restore(&s.snapshots[0])
	m.replica.Restore(&s.snapshots[1])
	if m.tree.Hash() != s.hash {
		t.Fatal("the restored tree has another hash than the saved one")
	}
	m.model = s.model.clone()
}

// resetTree returns a reset tree that had other nodes before.
func resetTree(rules tree.Rules) *tree.Tree {
	used := tree.New(tree.Rules{})
	ops := []wire.Request{
		opCreate("/a", wire.Persistent), opCreate("/a/b", wire.Ephemeral),
		opSet("/zookeeper/quota", -1),
	}
	used.Apply(&tree.Write{Op: wire.OpMulti, Zxid: 1, Session: 1, Ops: ops, Identities: super})
	used.Reset(rules)
	return used
}

// newMachine returns a machine whose trees have a few nodes.
func newMachine(t *rapid.T, rules tree.Rules) *machine {
	m := &machine{tree: resetTree(rules), replica: tree.New(rules), model: newModel(rules)}
	for _, path := range []string{"/a", "/b", "/a/a", "/a/b"} {
		m.write(t, &wire.Request{Op: wire.OpCreate, Path: path, ACL: tree.Open})
	}
	return m
}

func TestTreeMatchesModel(t *testing.T) {
	for _, rules := range []tree.Rules{
		{},
		{SequenceWraps: true, ExtendedTypes: true},
		{ExtendedTypes: true, ExistsNeedsRead: true},
	} {
		t.Run(fmt.Sprintf("%+v", rules), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) { t.Repeat(newMachine(t, rules).actions()) })
		})
	}
}

func (m *machine) actions() map[string]func(*rapid.T) {
	actions := map[string]func(*rapid.T){
		"":                m.check,
		"read":            func(t *rapid.T) { several(t, m.read) },
		"multi":           func(t *rapid.T) { several(t, m.multi) },
		"setSequence":     m.setSequence,
		"save":            m.save,
		"restore":         m.restore,
		"deleteContainer": m.deleteContainer,
		"closeSession":    func(t *rapid.T) { m.write(t, &wire.Request{Op: wire.OpCloseSession}) },
	}
	for _, op := range []wire.Op{
		wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL, wire.OpDelete,
		wire.OpSetData, wire.OpSetACL, wire.OpCheck,
	} {
		actions[operation.Name(op)] = func(t *rapid.T) {
			several(t, func(t *rapid.T) {
				r := m.request(t, op)
				m.write(t, &r)
			})
		}
	}
	return actions
}
