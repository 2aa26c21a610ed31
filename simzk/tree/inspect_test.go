package tree_test

import (
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// The list has each znode once, by path, whatever its ACL allows.
func TestNodeList(t *testing.T) {
	state := tree.New(tree.Rules{})
	for _, path := range []string{"/b", "/a", "/a/x"} {
		acl := []wire.ACL{{Perms: wire.PermCreate, Scheme: "world", ID: "anyone"}} // nobody reads
		r := state.Apply(&tree.Write{Op: wire.OpCreate, Path: path, Data: []byte(path), ACL: acl})
		if r.Code != wire.OK {
			t.Fatalf("%s: %v", path, r.Code)
		}
	}
	var paths []string
	for _, n := range state.NodeList() {
		paths = append(paths, n.Path)
		if n.Path == "/a/x" && string(n.Data) != "/a/x" || n.Path == "/a" && n.Stat.NumChildren != 1 {
			t.Errorf("%+v", n)
		}
	}
	want := []string{"/", "/a", "/a/x", "/b", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"}
	if !slices.Equal(paths, want) {
		t.Errorf("%q, not %q", paths, want)
	}
}
