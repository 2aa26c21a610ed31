package simzk_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk"
)

// A modelNode is a node of the naive model: what was written and when, and nothing that follows from other nodes.
type modelNode struct {
	data                             string
	czxid, mzxid, pzxid              int64
	ctime, mtime                     time.Duration
	version, created                 int32
	owner                            int64
	createdChildren, deletedChildren int // as clients see them, unless the counter was set
	counterSet                       bool
}

// A treeModel is the naive model of a tree. Everything else is computed anew whenever it is asked for.
type treeModel map[string]*modelNode

// split returns the parent's path and the name.
func split(path string) (parent, name string) {
	i := strings.LastIndex(path, "/")
	return path[:max(i, 1)], path[i+1:]
}

func (m treeModel) children(path string) []string {
	var names []string
	for other := range m {
		if parent, name := split(other); other != "/" && parent == path {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (m treeModel) ephemerals(owner int64) []string {
	var paths []string
	for path, n := range m {
		if n.owner == owner {
			paths = append(paths, path)
		}
	}
	slices.SortFunc(paths, func(a, b string) int { return int(m[a].czxid - m[b].czxid) })
	return paths
}

func (m treeModel) apply(w simzk.Write) (simzk.Code, string) {
	switch w.Op {
	case simzk.OpCreate:
		return m.create(w)
	case simzk.OpDelete:
		return m.delete(w), w.Path
	}
	n := m[w.Path]
	switch {
	case n == nil:
		return simzk.NoNode, ""
	case w.Version != -1 && w.Version != n.version:
		return simzk.BadVersion, ""
	}
	n.data, n.mzxid, n.mtime = string(w.Data), w.Zxid, w.Time
	n.version++
	return simzk.OK, w.Path
}

func (m treeModel) create(w simzk.Write) (simzk.Code, string) {
	parentPath, _ := split(w.Path)
	parent := m[parentPath]
	path := w.Path
	switch {
	case parent == nil:
		return simzk.NoNode, ""
	case parent.owner != 0:
		return simzk.NoChildrenForEphemerals, ""
	case w.Sequential:
		path = fmt.Sprintf("%s%010d", path, parent.created)
	}
	if m[path] != nil {
		return simzk.NodeExists, ""
	}
	m[path] = &modelNode{data: string(w.Data), czxid: w.Zxid, mzxid: w.Zxid, pzxid: w.Zxid, ctime: w.Time, mtime: w.Time,
		owner: w.Owner}
	parent.createdChildren++
	if parent.created < math.MaxInt32 {
		parent.created++
		parent.pzxid = w.Zxid
	}
	return simzk.OK, path
}

func (m treeModel) delete(w simzk.Write) simzk.Code {
	n := m[w.Path]
	switch {
	case w.Path == "/":
		return simzk.BadArguments
	case n == nil:
		return simzk.NoNode
	case w.Version != -1 && w.Version != n.version:
		return simzk.BadVersion
	case len(m.children(w.Path)) > 0:
		return simzk.NotEmpty
	}
	delete(m, w.Path)
	parent, _ := split(w.Path)
	m[parent].deletedChildren++
	m[parent].pzxid = w.Zxid
	return simzk.OK
}

// stat returns the stat that a client sees. Where the counter was set, cversion counts from that number.
func (m treeModel) stat(path string) zk.Stat {
	n := m[path]
	children := int32(len(m.children(path)))
	cversion := int32(n.createdChildren + n.deletedChildren)
	if n.counterSet {
		cversion = 2*n.created - children
	}
	return zk.Stat{Czxid: n.czxid, Mzxid: n.mzxid, Pzxid: n.pzxid, Ctime: n.ctime.Milliseconds(), Mtime: n.mtime.Milliseconds(),
		Version: n.version, Cversion: cversion, EphemeralOwner: n.owner, DataLength: int32(len(n.data)), NumChildren: children}
}

// A treeMachine drives two trees and the model with the same writes.
type treeMachine struct {
	tree, twin *simzk.Tree
	model      treeModel
	zxid       int64
}

// somePath is a path of a few short names, so that writes often meet.
var somePath = rapid.StringMatching(`(/[ab]){1,3}`)

func (m *treeMachine) write(t *rapid.T, op simzk.Op) {
	m.zxid++
	w := simzk.Write{Op: op, Zxid: m.zxid, Time: time.Duration(m.zxid) * time.Second, Version: -1}
	w.Path = rapid.OneOf(somePath, rapid.SampledFrom(slices.Sorted(maps.Keys(m.model)))).Draw(t, "path")
	if op == simzk.OpCreate {
		w.Path = somePath.Draw(t, "new path")
		w.Sequential = rapid.Bool().Draw(t, "sequential")
		w.Owner = rapid.Int64Range(0, 2).Draw(t, "owner")
	} else {
		w.Version = rapid.Int32Range(-1, 1).Draw(t, "version")
	}
	if op != simzk.OpDelete {
		w.Data = []byte(rapid.StringN(0, 2, -1).Draw(t, "data"))
	}
	m.compare(t, w)
}

func (m *treeMachine) compare(t *rapid.T, w simzk.Write) {
	before := m.tree.Hash()
	result, twin := m.tree.Apply(w), m.twin.Apply(w)
	if result.Code != twin.Code || result.Path != twin.Path || result.Stat != twin.Stat {
		t.Fatalf("the same write gave %+v and %+v", result, twin)
	}
	code, path := m.model.apply(w)
	if result.Code != code || code == simzk.OK && result.Path != path {
		t.Fatalf("%+v gave %v %q, want %v %q", w, result.Code, result.Path, code, path)
	}
	if changed := m.tree.Hash() != before; changed != (code == simzk.OK) {
		t.Fatalf("%+v gave code %v, hash changed: %v", w, code, changed)
	}
	if code == simzk.OK && w.Op != simzk.OpDelete && result.Stat != m.model.stat(path) {
		t.Fatalf("%+v gave stat %+v, want %+v", w, result.Stat, m.model.stat(path))
	}
}

func (m *treeMachine) setSequence(t *rapid.T) {
	path := somePath.Draw(t, "path")
	n := math.MaxInt32 - rapid.Int32Range(0, 2).Draw(t, "below the end")
	want := simzk.NoNode
	if node := m.model[path]; node != nil {
		node.created, node.counterSet, want = n, true, simzk.OK
	}
	if a, b := m.tree.SetSequence(path, n), m.twin.SetSequence(path, n); a != want || b != want {
		t.Fatalf("SetSequence(%q) gave %v and %v, want %v", path, a, b, want)
	}
}

// check compares all that can be read of the tree with the model.
func (m *treeMachine) check(t *rapid.T) {
	if m.tree.Hash() != m.twin.Hash() {
		t.Fatal("the same writes gave another hash")
	}
	for path, n := range m.model {
		got, listing := m.tree.Get(path), m.tree.Children(path)
		if want := m.model.stat(path); got.Stat != want || listing.Stat != want || string(got.Data) != n.data {
			t.Fatalf("%s is %+v with %q, want %+v with %q", path, got.Stat, got.Data, want, n.data)
		}
		if !slices.Equal(listing.Children, m.twin.Children(path).Children) {
			t.Fatalf("%s is listed in two orders", path)
		}
		if slices.Sort(listing.Children); !slices.Equal(listing.Children, m.model.children(path)) {
			t.Fatalf("%s has children %v, want %v", path, listing.Children, m.model.children(path))
		}
	}
	for owner := range int64(2) {
		if got, want := m.tree.Ephemerals(owner+1), m.model.ephemerals(owner+1); !slices.Equal(got, want) {
			t.Fatalf("session %d owns %v, want %v", owner+1, got, want)
		}
	}
}

func TestTreeIsItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &treeMachine{tree: simzk.NewTree(), twin: simzk.NewTree(), model: treeModel{"/": {}}}
		t.Repeat(map[string]func(*rapid.T){
			"create":      func(t *rapid.T) { m.write(t, simzk.OpCreate) },
			"delete":      func(t *rapid.T) { m.write(t, simzk.OpDelete) },
			"set":         func(t *rapid.T) { m.write(t, simzk.OpSet) },
			"setSequence": m.setSequence,
			"":            m.check,
		})
	})
}

// Nodes that differ in what a client can see of them differ in their hash.
func TestTreeHashTellsTreesApart(t *testing.T) {
	base := simzk.Write{Op: simzk.OpCreate, Zxid: 1, Path: "/a"}
	variants := []simzk.Write{base, base, base, base, base}
	variants[1].Path = "/b"
	variants[2].Zxid = 2
	variants[3].Owner = 1
	variants[4].Sequential = true
	seen := make(map[uint64]string)
	for _, w := range variants {
		tree := simzk.NewTree()
		if code := tree.Apply(w).Code; code != simzk.OK {
			t.Fatalf("%+v: %v", w, code)
		}
		text := fmt.Sprintf("%+v", w)
		if other, ok := seen[tree.Hash()]; ok {
			t.Errorf("%s and %s have the same hash", other, text)
		}
		seen[tree.Hash()] = text
	}
}

// The listing belongs to the caller, who may sort it.
func TestTreeListingIsTheCallers(t *testing.T) {
	tree := simzk.NewTree()
	for zxid, path := range []string{"/a", "/b", "/c"} {
		tree.Apply(simzk.Write{Op: simzk.OpCreate, Zxid: int64(zxid + 1), Path: path, Owner: 1})
	}
	listing, owned := tree.Children("/").Children, tree.Ephemerals(1)
	clear(listing)
	clear(owned)
	if got := tree.Children("/").Children; slices.Contains(got, "") || len(got) != 3 {
		t.Errorf("children %q", got)
	}
	if got := tree.Ephemerals(1); !slices.Equal(got, []string{"/a", "/b", "/c"}) {
		t.Errorf("ephemeral nodes %q", got)
	}
}

func TestCreatePaths(t *testing.T) {
	tests := []struct {
		path       string
		sequential bool
		want       simzk.Code
	}{
		{path: "/a"}, {path: "/..."}, {path: "/.a"}, {path: "/a."}, {path: "/é"}, {path: "/ "}, {path: "/parent/b"},
		{path: "/", sequential: true}, {path: "/parent/", sequential: true},
		{path: "", want: simzk.BadArguments}, {path: "x", want: simzk.BadArguments}, {path: "x", sequential: true, want: simzk.BadArguments},
		{path: "//", want: simzk.BadArguments}, {path: "//", sequential: true, want: simzk.BadArguments},
		{path: "/parent/", want: simzk.BadArguments}, {path: "/.", want: simzk.BadArguments}, {path: "/..", want: simzk.BadArguments},
		{path: "/parent/..", want: simzk.BadArguments},
		{path: "/a\x00", want: simzk.BadArguments}, {path: "/a\x1f", want: simzk.BadArguments},
		{path: "/a\x7f", want: simzk.BadArguments}, {path: "/a\u009f", want: simzk.BadArguments},
		{path: "/a\uf8ff", want: simzk.BadArguments}, {path: "/a\ufff0", want: simzk.BadArguments},
		{path: "/a\xff", want: simzk.BadArguments},
		{path: "/", want: simzk.NodeExists}, {path: "/parent", want: simzk.NodeExists},
		// That the parent is missing is found before the rest of the path is looked at.
		{path: "/missing/b", want: simzk.NoNode}, {path: "/missing/../b", want: simzk.NoNode},
	}
	for _, test := range tests {
		tree := simzk.NewTree()
		tree.Apply(simzk.Write{Op: simzk.OpCreate, Zxid: 1, Path: "/parent"})
		w := simzk.Write{Op: simzk.OpCreate, Zxid: 2, Path: test.path, Sequential: test.sequential}
		if got := tree.Apply(w).Code; got != test.want {
			t.Errorf("create %q, sequential %v: %d, want %d", test.path, test.sequential, got, test.want)
		}
	}
}

func TestApplyPanicsForReads(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic for a write that is none")
		}
	}()
	simzk.NewTree().Apply(simzk.Write{Op: simzk.OpGet, Path: "/"})
}

// Every code that the server answers has a name and an error of go-zookeeper/zk; OK has neither.
func TestCodes(t *testing.T) {
	errs := map[simzk.Code]error{
		simzk.BadArguments: zk.ErrBadArguments, simzk.NoNode: zk.ErrNoNode, simzk.BadVersion: zk.ErrBadVersion,
		simzk.NoChildrenForEphemerals: zk.ErrNoChildrenForEphemerals, simzk.NodeExists: zk.ErrNodeExists,
		simzk.NotEmpty: zk.ErrNotEmpty,
	}
	for code, want := range errs {
		if code.Err() != want || code.String() == "" || strings.HasPrefix(code.String(), "code") {
			t.Errorf("%d is %q with error %v, want %v", code, code, code.Err(), want)
		}
	}
	if simzk.OK.Err() != nil || simzk.OK.String() != "" {
		t.Errorf("OK is %q with error %v", simzk.OK, simzk.OK.Err())
	}
	if unknown := simzk.Code(-999); unknown.Err() == nil || unknown.String() != "code -999" {
		t.Errorf("an unknown code is %q with error %v", unknown, unknown.Err())
	}
}

// The numbers that stand in directories of lock nodes are made and removed all the time.
func BenchmarkTreeCreateDelete(b *testing.B) {
	tree := simzk.NewTree()
	tree.Apply(simzk.Write{Op: simzk.OpCreate, Zxid: 1, Path: "/lock"})
	zxid := int64(1)
	b.ReportAllocs()
	for b.Loop() {
		zxid += 2
		created := tree.Apply(simzk.Write{Op: simzk.OpCreate, Zxid: zxid - 1, Path: "/lock/n-", Owner: 1, Sequential: true})
		if code := tree.Apply(simzk.Write{Op: simzk.OpDelete, Zxid: zxid, Path: created.Path, Version: -1}).Code; code != simzk.OK {
			b.Fatal(code)
		}
	}
}

// One iteration is a creation and a deletion by a client, each served and delivered.
func BenchmarkServeDeliver(b *testing.B) {
	log := new(history.Log)
	cluster := simzk.New(simzk.Config{}, log)
	conn := cluster.Connect()
	go func() {
		for {
			path, err := conn.Create("/n-", nil, zk.FlagEphemeralSequential, nil)
			if err == nil {
				err = conn.Delete(path, -1)
			}
			if err != nil {
				panic(err)
			}
		}
	}()
	b.ReportAllocs()
	for b.Loop() {
		for range 2 {
			<-cluster.Activity()
			cluster.Collect()
			cluster.Serve(conn)
			cluster.Deliver(conn)
		}
		log.Reset()
	}
	conn.TearDown()
}
