package tree_test

import (
	"testing"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// treeOfAllKinds returns a tree with every kind of node that an error can concern.
func treeOfAllKinds(t *testing.T, extended bool) *tree.Tree {
	t.Helper()
	return newTree(t, tree.Rules{ExtendedTypes: extended},
		create("/node"), create("/node/child"),
		createEphemeral("/ephemeral", 1),
		createFor("/locked", grant(wire.PermAll, "digest", "alice:a")),
		tree.Write{Op: wire.OpCreate, Path: "/locked/child", ACL: tree.Open, Identities: alice},
		createFor("/node/locked", grant(wire.PermAll, "digest", "alice:a")),
		createContainer("/container"), createContainer("/full"), create("/full/child"))
}

// TestErrorPrecedence checks that the tree reports the error that ZooKeeper reports first. Each
// write has as many errors of lower precedence as possible.
func TestErrorPrecedence(t *testing.T) {
	const version = 9 // no node has this version
	tests := []struct {
		name     string
		extended bool // whether extended types are enabled
		write    tree.Write
		want     wire.Code
	}{
		{
			"create: flags", true,
			tree.Write{Op: wire.OpCreate, Flags: 7, Path: "/missing/.."},
			wire.BadArguments,
		},
		{
			"create: negative flags", true,
			tree.Write{Op: wire.OpCreate, Flags: -1, Path: "/missing/.."},
			wire.BadArguments,
		},
		{"create: extended types", false, tree.Write{
			Op: wire.OpCreate, Flags: wire.PersistentTTL,
			Path: "a",
		}, wire.Unimplemented},
		{"createTTL: extended types", false, tree.Write{
			Op:    wire.OpCreateTTL,
			Flags: wire.PersistentSeqTTL, Path: "a",
		}, wire.Unimplemented},
		{"create: TTL", true, tree.Write{
			Op: wire.OpCreate, Flags: wire.PersistentTTL, TTLMillis: 1,
			Path: "/missing/..",
		}, wire.BadArguments},
		{"createContainer: TTL", true, tree.Write{
			Op: wire.OpCreateContainer, Flags: wire.PersistentTTL,
			TTLMillis: 1, Path: "/missing/..",
		}, wire.BadArguments},
		{"createTTL: no TTL", true, tree.Write{
			Op: wire.OpCreateTTL, Flags: wire.PersistentTTL,
			Path: "/missing/..",
		}, wire.BadArguments},
		{"createTTL: negative TTL", true, tree.Write{
			Op: wire.OpCreateTTL, Flags: wire.PersistentTTL,
			TTLMillis: -1, Path: "/missing/..",
		}, wire.BadArguments},
		{"createTTL: long TTL", true, tree.Write{
			Op: wire.OpCreateTTL, Flags: wire.PersistentTTL,
			TTLMillis: 1 << 40, Path: "/missing/..",
		}, wire.BadArguments},
		{"createTTL: other flags", true, tree.Write{
			Op: wire.OpCreateTTL, Flags: wire.Ephemeral,
			TTLMillis: 1, Path: "/missing/..",
		}, wire.BadArguments},
		{"create: no slash", false, tree.Write{Op: wire.OpCreate, Path: "a"}, wire.BadArguments},
		{
			"create: null character", false,
			tree.Write{Op: wire.OpCreate, Path: "/missing/a\x00"},
			wire.BadArguments,
		},
		{
			"create: null character first", false,
			tree.Write{Op: wire.OpCreate, Path: "\x00/a"},
			wire.BadArguments,
		},
		{"create: null", false, tree.Write{Op: wire.OpCreate, Path: wire.Null}, wire.MarshallingError},
		{"create: ephemeral node of a local session", false, tree.Write{
			Op: wire.OpCreate, Flags: wire.EphemeralSequential, Path: wire.Null,
			NoEphemerals: wire.EphemeralOnLocalSession,
		}, wire.EphemeralOnLocalSession},
		{"create: other node of a local session", false, tree.Write{
			Op: wire.OpCreate, Flags: wire.PersistentSequential, Path: "/a", ACL: tree.Open,
			NoEphemerals: wire.EphemeralOnLocalSession,
		}, wire.OK},
		{"create: ACL", false, tree.Write{Op: wire.OpCreate, Path: "/missing/.."}, wire.InvalidACL},
		{"create: parent", false, create("/missing/.."), wire.NoNode},
		{"create: permission", false, create("/locked/.."), wire.NoAuth},
		{"create: permission for what exists", false, create("/locked/child"), wire.NoAuth},
		{"create: path", false, create("/ephemeral/.."), wire.BadArguments},
		{"create: existing", false, create("/node"), wire.NodeExists},
		{
			"create: child of an ephemeral node", false, create("/ephemeral/a"),
			wire.NoChildrenForEphemerals,
		},
		{"create: child of a container", false, create("/container/a"), wire.OK},
		{"createTTL: longest TTL", true, createTTL("/a", 1<<40-1), wire.OK},

		{
			"delete: root", false,
			tree.Write{Op: wire.OpDelete, Path: "/", Version: version},
			wire.BadArguments,
		},
		{"delete: ZooKeeper's own", false, tree.Write{
			Op: wire.OpDelete, Path: "/zookeeper",
			Version: version,
		}, wire.BadArguments},
		{"delete: quotas", false, remove("/zookeeper/quota"), wire.BadArguments},
		{"delete: configuration", false, remove("/zookeeper/config"), wire.BadArguments},
		{"delete: no path", false, remove(""), wire.BadArguments},
		{"delete: no slash", false, remove("a"), wire.BadArguments},
		{"delete: null character", false, remove("/missing/a\x00"), wire.BadArguments},
		{"delete: null character first", false, remove("\x00/a"), wire.BadArguments},
		{"delete: null", false, remove(wire.Null), wire.MarshallingError},
		{"delete: parent", false, remove("/missing/a"), wire.NoNode},
		{"delete: permission for what is missing", false, remove("/locked/missing"), wire.NoAuth},
		{"delete: permission", false, tree.Write{
			Op: wire.OpDelete, Path: "/locked/child",
			Version: version,
		}, wire.NoAuth},
		{
			"delete: missing", false,
			tree.Write{Op: wire.OpDelete, Path: "/missing", Version: version},
			wire.NoNode,
		},
		{"delete: path", false, remove("/node/.."), wire.NoNode},
		{
			"delete: version", false,
			tree.Write{Op: wire.OpDelete, Path: "/node", Version: version},
			wire.BadVersion,
		},
		{"delete: other negative version", false, tree.Write{
			Op: wire.OpDelete, Path: "/node",
			Version: -2,
		}, wire.BadVersion},
		{"delete: children", false, remove("/node"), wire.NotEmpty},
		{
			"delete: right version", false,
			tree.Write{Op: wire.OpDelete, Path: "/node/child"},
			wire.OK,
		},
		{"delete: the node's permissions do not count", false, remove("/node/locked"), wire.OK},

		{
			"setData: path", false,
			tree.Write{Op: wire.OpSetData, Path: "/missing/..", Version: version},
			wire.BadArguments,
		},
		{
			"setData: no path", false,
			tree.Write{Op: wire.OpSetData, Version: version},
			wire.BadArguments,
		},
		{
			"setData: missing", false,
			tree.Write{Op: wire.OpSetData, Path: "/missing", Version: version},
			wire.NoNode,
		},
		{
			"setData: permission", false,
			tree.Write{Op: wire.OpSetData, Path: "/locked", Version: version},
			wire.NoAuth,
		},
		{
			"setData: version", false,
			tree.Write{Op: wire.OpSetData, Path: "/node", Version: version},
			wire.BadVersion,
		},
		{"setData: right version", false, tree.Write{Op: wire.OpSetData, Path: "/node"}, wire.OK},

		{
			"setACL: path", false,
			tree.Write{Op: wire.OpSetACL, Path: "/missing/..", Version: version},
			wire.BadArguments,
		},
		{
			"setACL: ACL", false,
			tree.Write{Op: wire.OpSetACL, Path: "/missing", Version: version},
			wire.InvalidACL,
		},
		{"setACL: missing", false, tree.Write{
			Op: wire.OpSetACL, Path: "/missing", ACL: tree.Open,
			Version: version,
		}, wire.NoNode},
		{"setACL: permission", false, tree.Write{
			Op: wire.OpSetACL, Path: "/locked", ACL: tree.Open,
			Version: version,
		}, wire.NoAuth},
		{"setACL: version", false, tree.Write{
			Op: wire.OpSetACL, Path: "/node", ACL: tree.Open,
			Version: version,
		}, wire.BadVersion},
		{
			"setACL: right version", false,
			tree.Write{Op: wire.OpSetACL, Path: "/node", ACL: tree.Open},
			wire.OK,
		},

		{
			"check: path", false,
			tree.Write{Op: wire.OpCheck, Path: "/missing/..", Version: version},
			wire.BadArguments,
		},
		{
			"check: missing", false,
			tree.Write{Op: wire.OpCheck, Path: "/missing", Version: version},
			wire.NoNode,
		},
		{
			"check: permission", false,
			tree.Write{Op: wire.OpCheck, Path: "/locked", Version: version},
			wire.NoAuth,
		},
		{
			"check: version", false,
			tree.Write{Op: wire.OpCheck, Path: "/node", Version: version},
			wire.BadVersion,
		},
		{"check: right version", false, tree.Write{Op: wire.OpCheck, Path: "/node"}, wire.OK},

		{
			"deleteContainer: root", false,
			tree.Write{Op: wire.OpDeleteContainer, Path: "/"},
			wire.BadArguments,
		},
		{
			"deleteContainer: no path", false,
			tree.Write{Op: wire.OpDeleteContainer},
			wire.BadArguments,
		},
		{
			"deleteContainer: missing", false,
			tree.Write{Op: wire.OpDeleteContainer, Path: "/missing"},
			wire.NoNode,
		},
		{
			"deleteContainer: children", false,
			tree.Write{Op: wire.OpDeleteContainer, Path: "/full"},
			wire.NotEmpty,
		},
		{"deleteContainer: ephemeral node", false, tree.Write{
			Op:   wire.OpDeleteContainer,
			Path: "/ephemeral",
		}, wire.BadVersion},
		{"deleteContainer: ordinary node", false, tree.Write{
			Op:   wire.OpDeleteContainer,
			Path: "/node/child",
		}, wire.OK},
		{
			"deleteContainer: container", false,
			tree.Write{Op: wire.OpDeleteContainer, Path: "/container"},
			wire.OK,
		},
		{"deleteContainer: permissions do not count", false, tree.Write{
			Op:   wire.OpDeleteContainer,
			Path: "/locked/child",
		}, wire.OK},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tr := treeOfAllKinds(t, test.extended)
			hash, size := tr.Hash(), tr.Size()
			test.write.Zxid = 100
			got := tr.Apply(&test.write)
			if got.Code != test.want {
				t.Errorf("%q, want %q", got.Code, test.want)
			}
			if got.Code != wire.OK && (tr.Hash() != hash || tr.Size() != size) {
				t.Error("a failed write changed the tree")
			}
		})
	}
}

// TestVersions checks that writes of the ACL and of the data have separate versions.
func TestVersions(t *testing.T) {
	tr := newTree(t, tree.Rules{}, create("/a"))
	writes := []struct {
		op   wire.Op
		want wire.Stat
	}{
		{wire.OpSetData, wire.Stat{
			Czxid: 1, Mzxid: 2, Pzxid: 1, Ctime: 1000, Mtime: 2000, Version: 1,
			DataLength: 1,
		}},
		{wire.OpSetACL, wire.Stat{
			Czxid: 1, Mzxid: 2, Pzxid: 1, Ctime: 1000, Mtime: 2000, Version: 1,
			Aversion: 1, DataLength: 1,
		}},
		{wire.OpCheck, wire.Stat{
			Czxid: 1, Mzxid: 2, Pzxid: 1, Ctime: 1000, Mtime: 2000, Version: 1,
			Aversion: 1, DataLength: 1,
		}},
		{wire.OpSetData, wire.Stat{
			Czxid: 1, Mzxid: 5, Pzxid: 1, Ctime: 1000, Mtime: 5000, Version: 2,
			Aversion: 1, DataLength: 1,
		}},
	}
	for i, step := range writes {
		zxid := int64(i + 2)
		w := tree.Write{
			Op: step.op, Zxid: zxid, TimeMillis: 1000 * zxid, Path: "/a", Data: []byte("x"),
			ACL: tree.Open, Version: -1,
		}
		if got := tr.Apply(&w); got.Code != wire.OK || got.Stat != step.want {
			t.Errorf("%s gave %+v, want %+v", operation.Name(step.op), got, step.want)
		}
	}
}
