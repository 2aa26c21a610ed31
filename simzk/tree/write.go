package tree

import (
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// A Write is a change that the ensemble has agreed on. Op determines which fields are used:
//   - OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL: Path, Data, ACL, Flags; TTLMillis of the
//     last only
//   - OpDelete, OpCheck: Path, Version
//   - OpSetData: Path, Data, Version
//   - OpSetACL: Path, ACL, Version
//   - OpMulti: Ops, of the types above except OpSetACL
//   - OpDeleteContainer: Path
//   - OpCloseSession: Session, whose ephemeral nodes are deleted
//
// A version of -1 matches any version. A path of [wire.Null] makes ZooKeeper fail where it uses the
// path before checking it.
type Write struct {
	Op   wire.Op
	Zxid int64 // the transaction; higher than that of every earlier write
	// the leader's clock in milliseconds since 1970, for ctime and mtime
	TimeMillis int64
	Session    int64           // the requesting session, which owns the ephemeral nodes it creates
	Identities []wire.Identity // of the requesting client
	Path       string
	Data       []byte
	ACL        []wire.ACL
	Flags      int32
	Version    int32
	TTLMillis  int64
	Ops        []wire.Request
}

// Apply applies a write. A write that fails changes nothing. Apply panics if Op is not listed in
// [Write].
func (t *Tree) Apply(w *Write) Result {
	t.changes = t.changes[:0]
	return t.apply(w)
}

func (t *Tree) apply(w *Write) Result {
	switch w.Op {
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		return t.create(w)
	case wire.OpDelete:
		return t.delete(w)
	case wire.OpSetData:
		return t.setData(w)
	case wire.OpSetACL:
		return t.setACL(w)
	case wire.OpCheck:
		return t.check(w)
	case wire.OpMulti:
		return t.multi(w)
	case wire.OpDeleteContainer:
		return t.deleteContainer(w)
	case wire.OpCloseSession:
		return t.closeSession(w)
	}
	panic("tree: Apply of " + w.Op.String() + ", which is not a write")
}

// A Change is an effect of a write on one node that fires watches.
type Change struct {
	Op        wire.Op // OpCreate, OpDelete or OpSetData
	Path      string
	Owner     int64      // the session that owns an ephemeral node, 0 for others
	ACL       []wire.ACL // of the node
	ParentACL []wire.ACL // of its parent; nil for OpSetData
}

// Changes returns the changes of the last write in the order of their application. The slice is
// valid until the next write.
func (t *Tree) Changes() []Change { return t.changes }

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
		ephemeral: w.Flags == wire.Ephemeral || w.Flags == wire.EphemeralSequential,
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
	return Result{Path: path, Stat: n.clientStat()}
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
}

func (t *Tree) closeSession(w *Write) Result {
	for _, path := range slices.Clone(t.ephemerals[w.Session]) {
		t.remove(path, t.nodes[path], w.Zxid)
	}
	delete(t.ephemerals, w.Session)
	return Result{}
}

func (t *Tree) setData(w *Write) Result {
	n, code := t.nodeForUpdate(w.Path, w.Identities, wire.PermWrite)
	switch {
	case code != wire.OK:
		return Result{Code: code}
	case w.Version != -1 && w.Version != n.stat.Version:
		return Result{Code: wire.BadVersion}
	}
	t.logNode(w.Path)
	n.data = w.Data
	n.stat.DataLength = int32(len(w.Data))
	n.stat.Version++
	n.stat.Mzxid = w.Zxid
	n.stat.Mtime = w.TimeMillis
	t.rehash(w.Path, n)
	t.changes = append(t.changes, Change{
		Op: wire.OpSetData, Path: w.Path,
		Owner: n.stat.EphemeralOwner, ACL: n.acl,
	})
	return Result{Path: w.Path, Stat: n.clientStat()}
}

func (t *Tree) setACL(w *Write) Result {
	if !ValidPath(w.Path, false) {
		return Result{Code: wire.BadArguments}
	}
	acl, code := t.fixACL(w.ACL, w.Identities)
	if code != wire.OK {
		return Result{Code: code}
	}
	n, code := t.nodeForUpdate(w.Path, w.Identities, wire.PermAdmin)
	switch {
	case code != wire.OK:
		return Result{Code: code}
	case w.Version != -1 && w.Version != n.stat.Aversion:
		return Result{Code: wire.BadVersion}
	}
	n.acl = acl
	n.stat.Aversion++
	t.rehash(w.Path, n)
	return Result{Path: w.Path, Stat: n.clientStat()}
}

func (t *Tree) check(w *Write) Result {
	n, code := t.nodeForUpdate(w.Path, w.Identities, wire.PermRead)
	switch {
	case code != wire.OK:
		return Result{Code: code}
	case w.Version != -1 && w.Version != n.stat.Version:
		return Result{Code: wire.BadVersion}
	}
	return Result{Path: w.Path, Stat: n.clientStat()}
}

func (t *Tree) nodeForUpdate(path string, ids []wire.Identity, perm int32) (*znode, wire.Code) {
	if !ValidPath(path, false) {
		return nil, wire.BadArguments
	}
	n := t.nodes[path]
	switch {
	case n == nil:
		return nil, wire.NoNode
	case !permitted(n.acl, ids, perm):
		return nil, wire.NoAuth
	}
	return n, wire.OK
}
