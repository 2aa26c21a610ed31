package tree

import (
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// deletable reports whether a client may ask for the deletion of the path.
func deletable(path string) bool {
	switch path {
	case rootPath, systemPath, quotaPath, configPath:
		return false
	}
	return strings.LastIndexByte(path, '/') >= 0 && strings.IndexByte(path, 0) < 0
}

func (t *Tree) delete(w *Write) Result {
	switch {
	case w.Path == wire.Null:
		return Result{Code: wire.MarshallingError}
	case !deletable(w.Path):
		return Result{Code: wire.BadArguments}
	}
	parent, n := t.nodes[w.Path[:strings.LastIndexByte(w.Path, '/')]], t.nodes[w.Path]
	switch {
	case parent == nil:
		return Result{Code: wire.NoNode}
	case !permitted(parent.acl, w.Identities, wire.PermDelete):
		return Result{Code: wire.NoAuth}
	case n == nil:
		return Result{Code: wire.NoNode}
	case w.Version != -1 && w.Version != n.stat.Version:
		return Result{Code: wire.BadVersion}
	case len(n.children) > 0:
		return Result{Code: wire.NotEmpty}
	}
	t.remove(w.Path, n, w.Zxid)
	return Result{Path: w.Path, Stat: n.clientStat()}
}

// deleteContainer deletes a container or TTL node that is due; the server itself issues it. Only
// ephemeral nodes are refused: like ZooKeeper, it also deletes an ordinary node that has replaced a
// container.
func (t *Tree) deleteContainer(w *Write) Result {
	if !deletable(w.Path) {
		return Result{Code: wire.BadArguments}
	}
	n := t.nodes[w.Path]
	switch {
	case n == nil:
		return Result{Code: wire.NoNode}
	case len(n.children) > 0:
		return Result{Code: wire.NotEmpty}
	case n.stat.EphemeralOwner != 0:
		return Result{Code: wire.BadVersion}
	}
	t.remove(w.Path, n, w.Zxid)
	return Result{Path: w.Path, Stat: n.clientStat()}
}

// remove deletes a node that has no children.
func (t *Tree) remove(path string, n *znode, zxid int64) {
	t.logNode(path)
	delete(t.nodes, path)
	t.hash ^= n.hash
	if owner := n.stat.EphemeralOwner; owner != 0 {
		t.logEphemerals(owner)
		paths := t.ephemerals[owner]
		i := slices.Index(paths, path)
		t.ephemerals[owner] = slices.Delete(paths, i, i+1)
	}
	parentPath := Parent(path)
	t.logNode(parentPath)
	parent := t.nodes[parentPath]
	i, _ := slices.BinarySearchFunc(parent.children, Name(path), compareListing)
	parent.children = slices.Delete(parent.children, i, i+1)
	parent.stat.NumChildren--
	parent.stat.Pzxid = max(parent.stat.Pzxid, zxid)
	t.rehash(parentPath, parent)
	t.changes = append(t.changes, Change{
		Op: wire.OpDelete, Path: path, Owner: n.stat.EphemeralOwner,
		ACL: n.acl, ParentACL: parent.acl,
	})
	t.countSize(path, -1, -len(n.data))
}

func (t *Tree) closeSession(w *Write) Result {
	for _, path := range slices.Clone(t.ephemerals[w.Session]) {
		t.remove(path, t.nodes[path], w.Zxid)
	}
	delete(t.ephemerals, w.Session)
	return Result{}
}
