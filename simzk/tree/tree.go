// Package tree is the replicated state of ZooKeeper: the znodes. A [Tree] is a pure state machine.
// The same writes in the same order give the same tree and the same results; it knows no clock,
// starts no goroutine and reads no map in its own order.
package tree

import (
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// A Tree is the znodes of one server. It is not safe for concurrent use.
type Tree struct {
	rules Rules
	nodes map[string]*znode
	// the paths of each session's ephemeral nodes, in order of creation
	ephemerals map[int64][]string
	hash       uint64
	journal    *journal      // of the multi under way, if any
	changes    []Change      // of the last write
	own        [4]znode      // that every tree has
	first      []znode       // of the others
	idle       journal       // between two multis
	step       Write         // the operation of a multi that is being carried out
	results    []wire.Result // of multis
}

// Rules say where one release or configuration of ZooKeeper differs from another. The zero value is
// release 3.8.0 with extended types off.
type Rules struct {
	// SequenceWraps lets the sequence number go on from 2^31-1 to -2^31, as the manual says.
	// Servers since 3.6.0 (ZOOKEEPER-3249) store the count of creations only if it is higher, so
	// that it stays at 2^31-1 and names repeat.
	SequenceWraps bool
	// ExtendedTypes allows TTL nodes (zookeeper.extendedTypesEnabled).
	ExtendedTypes bool
	// ExistsNeedsRead asks for the permission to read where a client asks whether a node exists:
	// since 3.8.4 and 3.9.2 (ZOOKEEPER-2590).
	ExistsNeedsRead bool
	// IPv6 lets ACLs name IPv6 addresses: since 3.9.4 (ZOOKEEPER-4240).
	IPv6 bool
}

type znode struct {
	data     []byte
	acl      []wire.ACL
	stat     wire.Stat // Cversion counts creations only, as in ZooKeeper; see shown
	children []string  // names, in the order in which a listing shows them
	kind     kind
	ttl      int64 // in milliseconds
	hash     uint64
}

// kind says what becomes of a node without children.
type kind uint8

const (
	ordinary  kind = iota
	container      // deleted once it has had children and has none
	timed          // deleted once it has no children and has not changed for its TTL
)

// A Result is what a write or a read gave.
type Result struct {
	Code     wire.Code
	Path     string    // the node that was created, deleted or set
	Stat     wire.Stat // of the node after the operation; of a deleted node before it
	Data     []byte    // from Get
	Children []string  // from Children
	ACL      []wire.ACL
	Results  []wire.Result // of a multi
}

// The nodes that every tree has and that nobody may delete.
const (
	root      = "/"
	system    = "/zookeeper"
	quota     = "/zookeeper/quota"
	config    = "/zookeeper/config"
	rootAlias = "" // the name under which ZooKeeper's own tree has the root once more
)

// New returns a tree with nothing but the root and ZooKeeper's own nodes.
func New(rules Rules) *Tree {
	t := &Tree{nodes: make(map[string]*znode, 16), ephemerals: make(map[int64][]string, 4)}
	t.Reset(rules)
	return t
}

// Reset makes the tree what [New] returns, in the memory that it has.
func (t *Tree) Reset(rules Rules) {
	clear(t.nodes)
	clear(t.ephemerals)
	t.rules, t.hash, t.journal, t.changes = rules, 0, nil, t.changes[:0]
	own := &t.own
	for i, path := range [...]string{root, system, quota, config} {
		own[i] = znode{data: []byte{}, acl: Open, children: own[i].children[:0]}
		t.nodes[path] = &own[i]
	}
	own[0].children, own[0].stat.NumChildren = append(own[0].children, "zookeeper"), 1
	t.first = t.first[:0]
	clear(t.results)
	t.results = t.results[:0]
	own[1].children, own[1].stat.NumChildren = append(own[1].children, "quota", "config"), 2
	own[3].acl, own[3].stat.Aversion = configACL, -1
	t.nodes[rootAlias] = &own[0]
}

// configACL is that of ZooKeeper's configuration. It must not be changed.
var configACL = []wire.ACL{{Perms: wire.PermRead, Scheme: "world", ID: "anyone"}}

// Get returns the data and the stat of a node.
func (t *Tree) Get(path string, who []wire.Identity) Result {
	n, code := t.readable(path, who)
	if code != wire.OK {
		return Result{Code: code}
	}
	return Result{Path: path, Stat: n.shown(), Data: n.data}
}

// Exists returns the stat of a node.
func (t *Tree) Exists(path string, who []wire.Identity) Result {
	n := t.nodes[path]
	switch {
	case path == wire.Null:
		return Result{Code: wire.MarshallingError}
	case n == nil:
		return Result{Code: wire.NoNode}
	case t.rules.ExistsNeedsRead && !permitted(n.acl, who, wire.PermRead):
		return Result{Code: wire.NoAuth}
	}
	return Result{Path: path, Stat: n.shown()}
}

// Children returns the names of a node's children and the node's stat. The order of the names is
// fixed but means nothing: ZooKeeper's is that of a Java HashSet, and a client that relies on any
// order is wrong.
func (t *Tree) Children(path string, who []wire.Identity) Result {
	n, code := t.readable(path, who)
	if code != wire.OK {
		return Result{Code: code}
	}
	return Result{Path: path, Stat: n.shown(), Children: slices.Clone(n.children)}
}

// ACL returns the ACL and the stat of a node. Who may not change the ACL sees no digests.
func (t *Tree) ACL(path string, who []wire.Identity) Result {
	n := t.nodes[path]
	switch {
	case path == wire.Null:
		return Result{Code: wire.MarshallingError}
	case n == nil:
		return Result{Code: wire.NoNode}
	case !permitted(n.acl, who, wire.PermRead|wire.PermAdmin):
		return Result{Code: wire.NoAuth}
	case !permitted(n.acl, who, wire.PermAdmin):
		return Result{Path: path, Stat: n.shown(), ACL: masked(n.acl)}
	}
	return Result{Path: path, Stat: n.shown(), ACL: n.acl}
}

// Descendants returns how many nodes there are below a node. It looks at every node of the tree.
func (t *Tree) Descendants(path string, who []wire.Identity) (int, wire.Code) {
	if _, code := t.readable(path, who); code != wire.OK {
		return 0, code
	}
	if path == root {
		return len(t.nodes) - 2, wire.OK // All but the root, which has two names.
	}
	count := 0
	for other := range t.nodes {
		if strings.HasPrefix(other, path+"/") {
			count++
		}
	}
	return count, wire.OK
}

func (t *Tree) readable(path string, who []wire.Identity) (*znode, wire.Code) {
	n := t.nodes[path]
	switch {
	case path == wire.Null:
		return nil, wire.MarshallingError
	case n == nil:
		return nil, wire.NoNode
	case !permitted(n.acl, who, wire.PermRead):
		return nil, wire.NoAuth
	}
	return n, wire.OK
}

// Stat returns a node's stat whatever its ACL, and false if there is none.
func (t *Tree) Stat(path string) (stat wire.Stat, ok bool) {
	if n := t.nodes[path]; n != nil {
		return n.shown(), true
	}
	return wire.Stat{}, false
}

// LastChanges returns the last transaction that has changed a node's data, and the last that has
// changed its children, or false if there is no such node.
func (t *Tree) LastChanges(path string) (data, children int64, ok bool) {
	if n := t.nodes[path]; n != nil {
		return n.stat.Mzxid, n.stat.Pzxid, true
	}
	return 0, 0, false
}

// Size returns how many nodes there are.
func (t *Tree) Size() int { return len(t.nodes) - 1 }

// Ephemerals returns the paths of a session's ephemeral nodes in the order of their creation.
func (t *Tree) Ephemerals(session int64) []string { return slices.Clone(t.ephemerals[session]) }

// OwnsNodes tells whether a session has ephemeral nodes.
func (t *Tree) OwnsNodes(session int64) bool { return len(t.ephemerals[session]) > 0 }

// Disposable returns the containers and TTL nodes that are due to be deleted, in the order of their
// paths. A container is due once it has had children and has none. The time is in milliseconds
// since 1970.
func (t *Tree) Disposable(nowMillis int64) []string {
	var due []string
	for path, n := range t.nodes {
		if len(n.children) > 0 {
			continue
		}
		if n.kind == container && n.stat.Cversion > 0 || n.kind == timed &&
			nowMillis-n.stat.Mtime > n.ttl {
			due = append(due, path)
		}
	}
	slices.Sort(due)
	return due
}

// SetSequence makes n the number that the next sequential child of the node gets. It stands in for
// n creations, so that a test can start just below 2^31.
func (t *Tree) SetSequence(path string, n int32) wire.Code {
	node := t.nodes[path]
	if node == nil {
		return wire.NoNode
	}
	node.stat.Cversion = n
	t.rehash(path, node)
	return wire.OK
}

// Hash returns 64 bits that are equal for equal trees. It costs nothing: every write keeps it up to
// date.
func (t *Tree) Hash() uint64 { return t.hash }

// StateHash returns 64 bits over all that clients can be told of the tree, apart from times. Unlike
// [Tree.Hash] it does not take the history of the writes to be known, so it holds every field of
// every stat. It takes time linear in the number of nodes.
func (t *Tree) StateHash() uint64 {
	sum := t.hash
	for _, n := range t.nodes {
		h := mix(mix(n.hash, uint64(n.stat.Pzxid)), uint64(n.stat.Czxid)^xxhash.Sum64(n.data))
		if len(n.acl) > 0 && &n.acl[0] != &Open[0] {
			for _, a := range n.acl {
				h = mix(h, xxhash.Sum64String(a.Scheme)^xxhash.Sum64String(a.ID)*3^uint64(a.Perms))
			}
		}
		sum += h
	}
	return sum
}

func (t *Tree) rehash(path string, n *znode) {
	t.hash ^= n.hash
	n.hash = mix(mix(mix(xxhash.Sum64String(path), uint64(n.stat.Mzxid)),
		uint64(n.stat.EphemeralOwner)),
		uint64(uint32(n.stat.Cversion))<<32|uint64(uint32(n.stat.Version)))
	if n.stat.Aversion != 0 {
		n.hash = mix(n.hash, uint64(n.stat.Aversion))
	}
	t.hash ^= n.hash
}

// shown returns the stat as a client sees it: its Cversion counts creations and deletions of
// children, while the server stores creations only.
func (n *znode) shown() wire.Stat {
	stat := n.stat
	stat.Cversion = 2*stat.Cversion - stat.NumChildren
	return stat
}

// compareListing orders children by a hash of their names, so that no client passes because a
// listing happened to be sorted.
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

// mix folds b into a. It is the finaliser of splitmix64 over a sum, good enough to tell states
// apart.
func mix(a, b uint64) uint64 {
	x := a*0x9e3779b97f4a7c15 + b + 0x632be59bd9b4e019
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
