package tree_test

import (
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
