package tree

import (
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// A Write is a change that the ensemble has agreed on. Which fields it has depends on Op:
//   - OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL: Path, Data, ACL, Flags, and for the last
//     TTLMillis
//   - OpDelete, OpCheck: Path, Version
//   - OpSetData: Path, Data, Version
//   - OpSetACL: Path, ACL, Version
//   - OpMulti: Ops, of the types above except OpSetACL
//   - OpDeleteContainer: Path
//   - OpCloseSession: Session, whose ephemeral nodes are deleted
//
// A version of -1 stands for any. A path of [wire.Null] is one on which ZooKeeper fails where it
// does not check it first.
type Write struct {
	Op   wire.Op
	Zxid int64 // the transaction; higher than that of every write before
	// the leader's clock, in milliseconds since 1970, for ctime and mtime
	TimeMillis int64
	Session    int64           // that asks, and owns the ephemeral nodes that it creates
	Identities []wire.Identity // of whoever asks
	Path       string
	Data       []byte
	ACL        []wire.ACL
	Flags      int32
	Version    int32
	TTLMillis  int64
	Ops        []wire.Request
}

// Apply carries out a write. A write that fails changes nothing. It panics if the operation is none
// of a [Write].
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
	panic("tree: Apply of " + w.Op.String() + ", which is no write")
}

// A Change is something that a write has done to a node and that fires watches.
type Change struct {
	Op        wire.Op // OpCreate, OpDelete or OpSetData
	Path      string
	Owner     int64      // the session of an ephemeral node, 0 of others
	ACL       []wire.ACL // of the node
	ParentACL []wire.ACL // of its parent, unless only the data has changed
}

// Changes returns what the last write has changed, in the order in which it was done. It is good
// until the next write.
func (t *Tree) Changes() []Change { return t.changes }

// creation is what the flags and the type of a create ask for.
type creation struct {
	ephemeral, sequential bool
	kind                  kind
}

// parseCreate checks the flags of a create. The type says what sort of node it makes: a plain
// create with the flag of containers makes an ordinary node.
func (t *Tree) parseCreate(w *Write) (creation, wire.Code) {
	timedMode := w.Flags == wire.PersistentTTL || w.Flags == wire.PersistentSeqTTL
	switch {
	case w.Flags < wire.Persistent || w.Flags > wire.PersistentSeqTTL:
		return creation{}, wire.BadArguments
	case timedMode && !t.rules.ExtendedTypes:
		return creation{}, wire.Unimplemented
	case timedMode && (w.Op != wire.OpCreateTTL || w.TTLMillis <= 0 || w.TTLMillis > ttlMax):
		return creation{}, wire.BadArguments
	case !timedMode && w.Op == wire.OpCreateTTL:
		return creation{}, wire.BadArguments
	}
	c := creation{
		ephemeral: w.Flags == wire.Ephemeral || w.Flags == wire.EphemeralSequential,
		sequential: w.Flags == wire.PersistentSequential || w.Flags == wire.EphemeralSequential ||
			w.Flags == wire.PersistentSeqTTL,
	}
	switch w.Op {
	case wire.OpCreateContainer:
		c.kind, c.ephemeral = container, false
	case wire.OpCreateTTL:
		c.kind = timed
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
		var space [128]byte
		path = string(appendSequence(append(space[:0], path...), parent.stat.Cversion))
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
	return Result{Path: path, Stat: n.shown()}
}

func (t *Tree) newNode(w *Write, c creation, acl []wire.ACL) *znode {
	n := t.newBlock()
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

// newBlock returns the memory for one more node. The first ones of a tree stay where they are when
// it is renewed.
func (t *Tree) newBlock() *znode {
	if t.first == nil {
		t.first = make([]znode, 0, nodesKept)
	}
	n := len(t.first)
	if n == cap(t.first) {
		return new(znode)
	}
	t.first = t.first[:n+1]
	return &t.first[n]
}

// nodesKept is as many nodes as most runs make.
const nodesKept = 16

// insert puts a node into its place, but does not tell the parent.
func (t *Tree) insert(path string, n *znode) {
	t.note(path)
	t.nodes[path] = n
	t.rehash(path, n)
	if owner := n.stat.EphemeralOwner; owner != 0 {
		t.noteEphemerals(owner)
		t.ephemerals[owner] = append(t.ephemerals[owner], path)
	}
}

// addChild counts the creation in the parent; see [Rules] for what happens after 2^31-1 of them.
func (t *Tree) addChild(parentPath, name string, zxid int64) {
	t.note(parentPath)
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

// deletable tells whether a path can be one of a node that a client may delete.
func deletable(path string) bool {
	switch path {
	case root, system, quota, config:
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
	return Result{Path: w.Path, Stat: n.shown()}
}

// deleteContainer is what the server itself does with a container or TTL node that is due. Of other
// nodes it spares ephemeral ones only: ZooKeeper deletes an ordinary node that has come into the
// place of a container too.
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
	return Result{Path: w.Path, Stat: n.shown()}
}

// remove deletes a node that has no children.
func (t *Tree) remove(path string, n *znode, zxid int64) {
	t.note(path)
	delete(t.nodes, path)
	t.hash ^= n.hash
	if owner := n.stat.EphemeralOwner; owner != 0 {
		t.noteEphemerals(owner)
		paths := t.ephemerals[owner]
		i := slices.Index(paths, path)
		t.ephemerals[owner] = slices.Delete(paths, i, i+1)
	}
	parentPath := Parent(path)
	t.note(parentPath)
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
	n, code := t.changeable(w.Path, w.Identities, wire.PermWrite)
	switch {
	case code != wire.OK:
		return Result{Code: code}
	case w.Version != -1 && w.Version != n.stat.Version:
		return Result{Code: wire.BadVersion}
	}
	t.note(w.Path)
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
	return Result{Path: w.Path, Stat: n.shown()}
}

func (t *Tree) setACL(w *Write) Result {
	if !ValidPath(w.Path, false) {
		return Result{Code: wire.BadArguments}
	}
	acl, code := t.fixACL(w.ACL, w.Identities)
	if code != wire.OK {
		return Result{Code: code}
	}
	n, code := t.changeable(w.Path, w.Identities, wire.PermAdmin)
	switch {
	case code != wire.OK:
		return Result{Code: code}
	case w.Version != -1 && w.Version != n.stat.Aversion:
		return Result{Code: wire.BadVersion}
	}
	n.acl = acl
	n.stat.Aversion++
	t.rehash(w.Path, n)
	return Result{Path: w.Path, Stat: n.shown()}
}

func (t *Tree) check(w *Write) Result {
	n, code := t.changeable(w.Path, w.Identities, wire.PermRead)
	switch {
	case code != wire.OK:
		return Result{Code: code}
	case w.Version != -1 && w.Version != n.stat.Version:
		return Result{Code: wire.BadVersion}
	}
	return Result{Path: w.Path, Stat: n.shown()}
}

func (t *Tree) changeable(path string, who []wire.Identity, perm int32) (*znode, wire.Code) {
	if !ValidPath(path, false) {
		return nil, wire.BadArguments
	}
	n := t.nodes[path]
	switch {
	case n == nil:
		return nil, wire.NoNode
	case !permitted(n.acl, who, perm):
		return nil, wire.NoAuth
	}
	return n, wire.OK
}
