package tree_test

import (
	"fmt"
	"testing"

	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// The facts of simzk/conform compare the sizes of subtrees with those of a real server. These are
// the texts of sizes that would make it fail, and the limits of the root, which would too.
func TestQuotaTexts(t *testing.T) {
	const quota = "/zookeeper/quota/a"
	for text, want := range map[string]string{
		"count=2,bytes=3":  "count=3,bytes=4",
		"":                 "count=0,bytes=0",
		"bytes=3=;z=1;y=":  "bytes=3=;z=1;y=",
		"count=2;y==9;x=8": "count=3,bytes=0=;x=8;y=-1",
		"count":            "count",
		"count=":           "count=",
		"count=x":          "count=x",
		",count=1":         ",count=1",
	} {
		tr := tree.New(tree.Rules{})
		zxid := int64(0)
		apply := func(op wire.Op, path, data string) {
			t.Helper()
			zxid++
			if r := tr.Apply(&tree.Write{
				Op: op, Path: path, Data: []byte(data), ACL: tree.Open, Version: -1, Zxid: zxid,
			}); r.Code != wire.OK {
				t.Fatalf("%v of %s: %v", op, path, r.Code)
			}
		}
		for _, path := range []string{
			"/zookeeper/quota/zookeeper_limits", "/zookeeper/quota/zookeeper_stats", "/a", quota,
			quota + "/zookeeper_limits", quota + "/zookeeper_stats",
		} {
			apply(wire.OpCreate, path, "")
		}
		apply(wire.OpSetData, quota+"/zookeeper_stats", text)
		apply(wire.OpCreate, "/a/b", "1")
		if got := string(tr.Get(quota+"/zookeeper_stats", nil).Data); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
		if got := tr.Get("/zookeeper/quota/zookeeper_stats", nil).Data; len(got) > 0 {
			t.Errorf("the size of the root is %q", got)
		}
	}
}

// The size of a subtree with limits follows every write below its root, also those of an ended
// session and of a multi, unless that fails.
func TestQuotaCounts(t *testing.T) {
	const stats = "/zookeeper/quota/a/zookeeper_stats"
	data := func(op wire.Op, path, data string) tree.Write {
		return tree.Write{
			Op: op, Path: path, Data: []byte(data), ACL: tree.Open, Version: -1, Session: 1,
		}
	}
	ephemeral := data(wire.OpCreate, "/a/e", "12345678")
	ephemeral.Flags = wire.Ephemeral
	end := tree.Write{Op: wire.OpCloseSession, Session: 1}
	tr := newTree(t, tree.Rules{}, data(wire.OpCreate, "/a", "12"),
		data(wire.OpCreate, "/a/b", "123"), create("/zookeeper/quota/a"),
		create("/zookeeper/quota/a/zookeeper_limits"), create(stats))
	for i, step := range []struct {
		name         string
		write        tree.Write
		nodes, bytes int
	}{
		{"longer data", data(wire.OpSetData, "/a/b", "123456"), 2, 8},
		{"shorter data", data(wire.OpSetData, "/a/b", "1"), 2, 3},
		{"the root's data", data(wire.OpSetData, "/a", "123"), 2, 4},
		{"a child", data(wire.OpCreate, "/a/b/c", "1234"), 3, 8},
		{"a sibling", data(wire.OpCreate, "/ab", "1234"), 3, 8},
		{"no child", remove("/a/b/c"), 2, 4},
		{"an ephemeral child", ephemeral, 3, 12},
		{"the end of its session", end, 2, 4},
		{"a multi", *multi(opSet("/a", -1), opDelete("/a/b")), 1, 1},
		{"a multi that fails", *multi(opSet("/a", -1), opDelete("/missing")), 1, 1},
		{"no root", remove("/a"), 0, 0},
	} {
		step.write.Zxid = int64(100 + i)
		tr.Apply(&step.write)
		want := fmt.Sprintf("count=%d,bytes=%d", step.nodes, step.bytes)
		if got := string(tr.Get(stats, nil).Data); got != want {
			t.Errorf("%s: %s, want %s", step.name, got, want)
		}
	}
}
