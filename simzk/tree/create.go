package tree

import (
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// creation is the decoded mode of a create.
type creation struct {
	ephemeral, sequential bool
	kind                  kind
}

// parseCreate checks the flags of a create. The type determines the kind of the node: a plain
// create with the flag of containers makes an ordinary node.
func (t *Tree) parseCreate(w *Write) (creation, wire.Code) {
	ttlMode := w.Flags == wire.PersistentTTL || w.Flags == wire.PersistentSeqTTL
	switch {
	case w.Flags < wire.Persistent || w.Flags > wire.PersistentSeqTTL:
		return creation{}, wire.BadArguments
	case ttlMode && !t.rules.ExtendedTypes:
		return creation{}, wire.Unimplemented
	case ttlMode && (w.Op != wire.OpCreateTTL || w.TTLMillis <= 0 || w.TTLMillis > ttlMax):
		return creation{}, wire.BadArguments
	case !ttlMode && w.Op == wire.OpCreateTTL:
		return creation{}, wire.BadArguments
	}
	c := creation{
		ephemeral: wire.IsEphemeral(w.Flags),
		sequential: w.Flags == wire.PersistentSequential || w.Flags == wire.EphemeralSequential ||
			w.Flags == wire.PersistentSeqTTL,
	}
	switch w.Op {
	case wire.OpCreateContainer:
		c.kind, c.ephemeral = containerNode, false
	case wire.OpCreateTTL:
		c.kind = ttlNode
	}
	return c, wire.OK
}

// ttlMax is the longest TTL in milliseconds: 40 bits.
const ttlMax = 1<<40 - 1

func (t *Tree) create(w *Write) Result {
	c, code := t.parseCreate(w)
	if code != wire.OK {
		return Result{Code: code}
	}
	if w.NoEphemerals != wire.OK && wire.IsEphemeral(w.Flags) {
		return Result{Code: w.NoEphemerals}
	}
	slash := strings.LastIndexByte(w.Path, '/')
	switch {
	case w.Path == wire.Null:
		return Result{Code: wire.MarshallingError}
	case slash < 0 || strings.IndexByte(w.Path, 0) >= 0:
		return Result{Code: wire.BadArguments}
	}
	acl, code := t.fixACL(w.ACL, w.Identities)
	if code != wire.OK {
		return Result{Code: code}
	}
	parent := t.nodes[w.Path[:slash]]
	switch {
	case parent == nil:
		return Result{Code: wire.NoNode}
	case !permitted(parent.acl, w.Identities, wire.PermCreate):
		return Result{Code: wire.NoAuth}
	}
	path := w.Path
	if c.sequential {
		var buffer [128]byte
		path = string(appendSequence(append(buffer[:0], path...), parent.stat.Cversion))
	}
	switch {
	case !ValidPath(path, false):
		return Result{Code: wire.BadArguments}
	case t.nodes[path] != nil:
		return Result{Code: wire.NodeExists}
	case parent.stat.EphemeralOwner != 0:
		return Result{Code: wire.NoChildrenForEphemerals}
	}
	n := t.newNode(w, c, acl)
	t.insert(path, n)
	t.addChild(Parent(path), Name(path), w.Zxid)
	t.changes = append(t.changes, Change{
		Op: wire.OpCreate, Path: path, Owner: n.stat.EphemeralOwner,
		ACL: acl, ParentACL: parent.acl,
	})
	stat := n.clientStat()
	t.countCreated(path, n)
	return Result{Path: path, Stat: stat}
}

func (t *Tree) newNode(w *Write, c creation, acl []wire.ACL) *znode {
	n := t.allocNode()
	*n = znode{
		data: w.Data, acl: acl, kind: c.kind, ttl: w.TTLMillis, children: n.children[:0],
		stat: wire.Stat{
			Czxid: w.Zxid, Mzxid: w.Zxid, Pzxid: w.Zxid, Ctime: w.TimeMillis, Mtime: w.TimeMillis,
			DataLength: int32(len(w.Data)),
		},
	}
	if c.ephemeral {
		n.stat.EphemeralOwner = w.Session
	}
	return n
}

// allocNode returns memory for a node. The first nodes of a tree come from a pool that is reused
// after a reset.
func (t *Tree) allocNode() *znode {
	if t.nodePool == nil {
		t.nodePool = make([]znode, 0, nodePoolSize)
	}
	n := len(t.nodePool)
	if n == cap(t.nodePool) {
		return new(znode)
	}
	t.nodePool = t.nodePool[:n+1]
	return &t.nodePool[n]
}

// nodePoolSize is the number of nodes in most runs.
const nodePoolSize = 16

// insert adds a node to the tree but not to its parent's children.
func (t *Tree) insert(path string, n *znode) {
	t.logNode(path)
	t.nodes[path] = n
	t.rehash(path, n)
	if owner := n.stat.EphemeralOwner; owner != 0 {
		t.logEphemerals(owner)
		t.ephemerals[owner] = append(t.ephemerals[owner], path)
	}
}

// addChild adds a child to its parent and counts the creation; see [Rules.SequenceWraps] for the
// behaviour after 2^31-1 creations.
func (t *Tree) addChild(parentPath, name string, zxid int64) {
	t.logNode(parentPath)
	parent := t.nodes[parentPath]
	if next := parent.stat.Cversion + 1; next > parent.stat.Cversion || t.rules.SequenceWraps {
		parent.stat.Cversion = next
		parent.stat.Pzxid = zxid
	}
	i, _ := slices.BinarySearchFunc(parent.children, name, compareListing)
	parent.children = slices.Insert(parent.children, i, name)
	parent.stat.NumChildren++
	t.rehash(parentPath, parent)
}
