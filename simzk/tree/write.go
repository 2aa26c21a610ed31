package tree

import (
	"strconv"

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
	// NoEphemerals, unless it is OK, is the code with which creates of ephemeral nodes fail,
	// because the session is local.
	NoEphemerals wire.Code
}

// Apply applies a write. A write that fails changes nothing. Apply panics if Op is not listed in
// [Write].
func (t *Tree) Apply(w *Write) Result {
	t.touch()
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
	panic("tree: Apply of type " + strconv.Itoa(int(w.Op)) + ", which is not a write")
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
