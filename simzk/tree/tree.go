// Package tree implements the replicated state of ZooKeeper: the znodes. A [Tree] is a pure state
// machine: the same writes in the same order give the same tree and the same results. It reads no
// clock, starts no goroutine and depends on no map order.
package tree

import (
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A Tree holds the znodes of one server. It is not safe for concurrent use.
type Tree struct {
	rules Rules
	nodes map[string]*znode
	// paths of ephemeral nodes by owner, in order of creation
	ephemerals  map[int64][]string
	hash        uint64
	version     uint64        // differs between contents of the tree; see [Tree.touch]
	versions    uint64        // how many there have been
	stateHash   uint64        // of the version stateOf
	stateOf     uint64        // 0 for none
	undo        *undoLog      // nil except during a multi
	changes     []Change      // of the last write
	systemNodes [4]znode      // the nodes that every tree has
	nodePool    []znode       // backing store of the first other nodes
	spareUndo   undoLog       // the log that the next multi reuses
	subOp       Write         // the operation of a multi being applied
	resultPool  []wire.Result // backing store of the results of multis

	saved         *content   // the last that was saved or restored, or nil
	spareContents []*content // that no snapshot has
}

// Rules are the differences in behaviour between releases and configurations of ZooKeeper. The zero
// value is release 3.8.0 with extended types off.
type Rules struct {
	// SequenceWraps lets the sequence number continue from 2^31-1 to -2^31, as the manual says.
	// Servers since 3.6.0 (ZOOKEEPER-3249) store the count of creations only if it is higher, so
	// the number stays at 2^31-1 and names repeat.
	SequenceWraps bool
	// ExtendedTypes allows TTL nodes (zookeeper.extendedTypesEnabled).
	ExtendedTypes bool
	// ExistsNeedsRead makes exists require the read permission: since 3.8.4 and 3.9.2
	// (ZOOKEEPER-2590).
	ExistsNeedsRead bool
	// IPv6 lets ACLs name IPv6 addresses: since 3.9.4 (ZOOKEEPER-4240).
	IPv6 bool
}

type znode struct {
	data     []byte
	acl      []wire.ACL
	stat     wire.Stat // Cversion counts creations only, as in ZooKeeper; see clientStat
	children []string  // names, in listing order
	kind     kind
	ttl      int64 // in milliseconds
	hash     uint64
}

// kind determines whether the server deletes a node without children.
type kind uint8

const (
	regularNode   kind = iota
	containerNode      // deleted once it has had children and has none left
	ttlNode            // deleted once it has no children and has not changed for its TTL
)

// A Result is the outcome of a write or a read.
type Result struct {
	Code     wire.Code
	Path     string    // of the node that was read, created, deleted or set
	Stat     wire.Stat // of the node after the operation; of a deleted node, before it
	Data     []byte    // from Get
	Children []string  // from Children
	ACL      []wire.ACL
	Results  []wire.Result // of a multi
}

// The nodes that every tree has. No client can delete them.
const (
	rootPath      = "/"
	systemPath    = "/zookeeper"
	quotaPath     = "/zookeeper/quota"
	configPath    = "/zookeeper/config"
	rootAliasPath = "" // ZooKeeper's DataTree also stores the root under this name
)

// New returns a tree that contains only the root and ZooKeeper's own nodes.
func New(rules Rules) *Tree {
	t := &Tree{nodes: make(map[string]*znode, 16), ephemerals: make(map[int64][]string, 4)}
	t.Reset(rules)
	return t
}

// touch notes that the content of the tree may change.
func (t *Tree) touch() {
	t.versions++
	t.version = t.versions
}

// Reset makes the tree equal to what [New] returns, and reuses its memory.
func (t *Tree) Reset(rules Rules) {
	t.touch()
	clear(t.nodes)
	clear(t.ephemerals)
	t.rules, t.hash, t.undo, t.changes = rules, 0, nil, t.changes[:0]
	own := &t.systemNodes
	for i, path := range [...]string{rootPath, systemPath, quotaPath, configPath} {
		own[i] = znode{data: []byte{}, acl: Open, children: own[i].children[:0]}
		t.nodes[path] = &own[i]
	}
	own[0].children, own[0].stat.NumChildren = append(own[0].children, "zookeeper"), 1
	t.nodePool = t.nodePool[:0]
	clear(t.resultPool)
	t.resultPool = t.resultPool[:0]
	own[1].children, own[1].stat.NumChildren = append(own[1].children, "quota", "config"), 2
	own[3].acl, own[3].stat.Aversion = configACL, -1
	t.nodes[rootAliasPath] = &own[0]
}

// quotaNode is the index of /zookeeper/quota in systemNodes.
const quotaNode = 2

// configACL is the ACL of /zookeeper/config. It must not be changed.
var configACL = []wire.ACL{{Perms: wire.PermRead, Scheme: "world", ID: "anyone"}}

// Get returns the data and the stat of a node.
func (t *Tree) Get(path string, ids []wire.Identity) Result {
	n, code := t.nodeForRead(path, ids)
	if code != wire.OK {
		return Result{Code: code}
	}
	return Result{Path: path, Stat: n.clientStat(), Data: n.data}
}

// Exists returns the stat of a node.
func (t *Tree) Exists(path string, ids []wire.Identity) Result {
	n := t.nodes[path]
	switch {
	case path == wire.Null:
		return Result{Code: wire.MarshallingError}
	case n == nil:
		return Result{Code: wire.NoNode}
	case t.rules.ExistsNeedsRead && !permitted(n.acl, ids, wire.PermRead):
		return Result{Code: wire.NoAuth}
	}
	return Result{Path: path, Stat: n.clientStat()}
}

// Children returns the names of a node's children and the node's stat. The order of the names is
// deterministic but arbitrary: ZooKeeper's is that of a Java HashSet, and no client may rely on it.
func (t *Tree) Children(path string, ids []wire.Identity) Result {
	n, code := t.nodeForRead(path, ids)
	if code != wire.OK {
		return Result{Code: code}
	}
	return Result{Path: path, Stat: n.clientStat(), Children: slices.Clone(n.children)}
}

// ACL returns the ACL and the stat of a node. Digests are masked for a caller without the admin
// permission.
func (t *Tree) ACL(path string, ids []wire.Identity) Result {
	n := t.nodes[path]
	switch {
	case path == wire.Null:
		return Result{Code: wire.MarshallingError}
	case n == nil:
		return Result{Code: wire.NoNode}
	case !permitted(n.acl, ids, wire.PermRead|wire.PermAdmin):
		return Result{Code: wire.NoAuth}
	case !permitted(n.acl, ids, wire.PermAdmin):
		return Result{Path: path, Stat: n.clientStat(), ACL: maskDigests(n.acl)}
	}
	return Result{Path: path, Stat: n.clientStat(), ACL: n.acl}
}

// Descendants returns the number of nodes below a node. It takes time linear in the size of the
// tree.
func (t *Tree) Descendants(path string, ids []wire.Identity) (int, wire.Code) {
	if _, code := t.nodeForRead(path, ids); code != wire.OK {
		return 0, code
	}
	if path == rootPath {
		return len(t.nodes) - 2, wire.OK // The root has two entries.
	}
	count := 0
	for other := range t.nodes {
		if strings.HasPrefix(other, path+"/") {
			count++
		}
	}
	return count, wire.OK
}

func (t *Tree) nodeForRead(path string, ids []wire.Identity) (*znode, wire.Code) {
	n := t.nodes[path]
	switch {
	case path == wire.Null:
		return nil, wire.MarshallingError
	case n == nil:
		return nil, wire.NoNode
	case !permitted(n.acl, ids, wire.PermRead):
		return nil, wire.NoAuth
	}
	return n, wire.OK
}

// Stat returns a node's stat without a permission check, and false if there is no such node.
func (t *Tree) Stat(path string) (stat wire.Stat, ok bool) {
	if n := t.nodes[path]; n != nil {
		return n.clientStat(), true
	}
	return wire.Stat{}, false
}

// LastChanges returns the last transactions that changed a node's data and its children, and false
// if there is no such node.
func (t *Tree) LastChanges(path string) (data, children int64, ok bool) {
	if n := t.nodes[path]; n != nil {
		return n.stat.Mzxid, n.stat.Pzxid, true
	}
	return 0, 0, false
}

// Size returns the number of nodes.
func (t *Tree) Size() int { return len(t.nodes) - 1 }

// Ephemerals returns the paths of a session's ephemeral nodes in the order of their creation.
func (t *Tree) Ephemerals(session int64) []string { return slices.Clone(t.ephemerals[session]) }

// OwnsNodes reports whether a session owns ephemeral nodes.
func (t *Tree) OwnsNodes(session int64) bool { return len(t.ephemerals[session]) > 0 }

// Disposable returns the paths of the containers and TTL nodes that are due for deletion, sorted. A
// container is due once it has had children and has none left. The time is in milliseconds since
// 1970.
func (t *Tree) Disposable(nowMillis int64) []string {
	var due []string
	for path, n := range t.nodes {
		if len(n.children) > 0 {
			continue
		}
		if n.kind == containerNode && n.stat.Cversion > 0 || n.kind == ttlNode &&
			nowMillis-n.stat.Mtime > n.ttl {
			due = append(due, path)
		}
	}
	slices.Sort(due)
	return due
}

// SetSequence makes n the number of the node's next sequential child. It replaces n creations, so
// that a test can start just below 2^31.
func (t *Tree) SetSequence(path string, n int32) wire.Code {
	node := t.nodes[path]
	if node == nil {
		return wire.NoNode
	}
	t.touch()
	node.stat.Cversion = n
	t.rehash(path, node)
	return wire.OK
}

// Hash returns a 64-bit hash that is equal for equal trees. It takes constant time: every write
// updates it.
func (t *Tree) Hash() uint64 { return t.hash }

// StateHash returns a 64-bit hash of everything that clients can observe of the tree except times.
// It covers every field of every stat, because unlike [Tree.Hash] it does not rely on the history
// of writes. It takes time linear in the number of nodes after each write.
func (t *Tree) StateHash() uint64 {
	if t.stateOf != t.version {
		t.stateHash, t.stateOf = t.computeStateHash(), t.version
	}
	return t.stateHash
}

func (t *Tree) computeStateHash() uint64 {
	sum := t.hash
	for _, n := range t.nodes {
		h := hash64.Mix(n.hash, uint64(n.stat.Pzxid))
		h = hash64.Mix(h, uint64(n.stat.Czxid)^xxhash.Sum64(n.data))
		if len(n.acl) > 0 && &n.acl[0] != &Open[0] {
			for _, a := range n.acl {
				id := xxhash.Sum64String(a.Scheme) ^ xxhash.Sum64String(a.ID)*3
				h = hash64.Mix(h, id^uint64(a.Perms))
			}
		}
		sum += h
	}
	return sum
}

func (t *Tree) rehash(path string, n *znode) {
	t.hash ^= n.hash
	n.hash = hash64.Mix(hash64.Mix(hash64.Mix(xxhash.Sum64String(path), uint64(n.stat.Mzxid)),
		uint64(n.stat.EphemeralOwner)),
		uint64(uint32(n.stat.Cversion))<<32|uint64(uint32(n.stat.Version)))
	if n.stat.Aversion != 0 {
		n.hash = hash64.Mix(n.hash, uint64(n.stat.Aversion))
	}
	t.hash ^= n.hash
}

// clientStat returns the stat as clients see it: its Cversion counts creations and deletions of
// children, while the server stores creations only.
func (n *znode) clientStat() wire.Stat {
	stat := n.stat
	stat.Cversion = 2*stat.Cversion - stat.NumChildren
	return stat
}

// compareListing orders children by a hash of their names, so that no client passes by luck because
// a listing happens to be sorted.
func compareListing(a, b string) int {
	ha, hb := xxhash.Sum64String(a), xxhash.Sum64String(b)
	switch {
	case ha < hb:
		return -1
	case ha > hb:
		return 1
	}
	return strings.Compare(a, b)
}
