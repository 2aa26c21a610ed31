package simzk

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/go-zookeeper/zk"
)

// A Tree is the replicated state of ZooKeeper: the znodes. It is a pure state machine. The same writes in the same
// order give the same tree and the same results; it knows no clock, starts no goroutine and reads no map in its own
// order. It is not safe for concurrent use.
type Tree struct {
	nodes      map[string]*znode
	ephemerals map[int64][]string // the paths of each session's ephemeral nodes, in order of creation
	hash       uint64
}

type znode struct {
	data     []byte
	stat     zk.Stat  // Cversion counts creations only, as in ZooKeeper; see copyStat
	children []string // names, in the order in which a listing shows them
	hash     uint64
}

// A Write is a change that the ensemble has agreed on.
type Write struct {
	Op         Op            // OpCreate, OpDelete or OpSet
	Zxid       int64         // the transaction; higher than that of every write before
	Time       time.Duration // the leader's clock, for ctime and mtime
	Path       string
	Data       []byte
	Version    int32 // the expected version; -1 for any
	Owner      int64 // the session of an ephemeral node, 0 for a persistent one
	Sequential bool
}

// A Result is what a write or a read gave.
type Result struct {
	Code     Code
	Path     string   // the node that was created, deleted or set
	Stat     zk.Stat  // of the node after the operation; of a deleted node before it
	Data     []byte   // from Get
	Children []string // from Children
}

// NewTree returns a tree with nothing but the root.
func NewTree() *Tree {
	t := &Tree{nodes: make(map[string]*znode, 8), ephemerals: make(map[int64][]string, 4)}
	t.nodes["/"] = new(znode)
	return t
}

// Apply carries out a write. A write that fails changes nothing.
func (t *Tree) Apply(w Write) Result {
	switch w.Op {
	case OpCreate:
		return t.create(w)
	case OpDelete:
		return t.delete(w)
	case OpSet:
		return t.set(w)
	}
	panic("simzk: Apply of " + w.Op.String() + ", which is no write")
}

func (t *Tree) create(w Write) Result {
	if !strings.Contains(w.Path, "/") {
		return Result{Code: BadArguments}
	}
	parentPath := parentOf(w.Path)
	parent := t.nodes[parentPath]
	switch {
	case parent == nil:
		return Result{Code: NoNode}
	case !validPath(w.Path, w.Sequential):
		return Result{Code: BadArguments}
	case w.Path == "/" && !w.Sequential:
		return Result{Code: NodeExists}
	}
	if parent.stat.EphemeralOwner != 0 {
		return Result{Code: NoChildrenForEphemerals}
	}
	path := w.Path
	if w.Sequential {
		path += sequenceSuffix(parent.stat.Cversion)
	}
	if t.nodes[path] != nil {
		return Result{Code: NodeExists}
	}
	milliseconds := w.Time.Milliseconds()
	n := &znode{data: w.Data, stat: zk.Stat{
		Czxid: w.Zxid, Mzxid: w.Zxid, Pzxid: w.Zxid, Ctime: milliseconds, Mtime: milliseconds,
		EphemeralOwner: w.Owner, DataLength: int32(len(w.Data)),
	}}
	t.nodes[path] = n
	t.rehash(path, n)
	if w.Owner != 0 {
		t.ephemerals[w.Owner] = append(t.ephemerals[w.Owner], path)
	}
	t.addChild(parentPath, parent, path[strings.LastIndexByte(path, '/')+1:], w.Zxid)
	return Result{Path: path, Stat: n.copyStat()}
}

// addChild counts the creation in the parent. Servers since 3.6.0 (ZOOKEEPER-3249) store the new count only if it is
// higher, so that after 2^31-1 it stays where it is and sequence numbers repeat, whatever the manual says of -2^31.
func (t *Tree) addChild(parentPath string, parent *znode, name string, zxid int64) {
	if next := parent.stat.Cversion + 1; next > parent.stat.Cversion {
		parent.stat.Cversion = next
		parent.stat.Pzxid = zxid
	}
	i, _ := slices.BinarySearchFunc(parent.children, name, compareListing)
	parent.children = slices.Insert(parent.children, i, name)
	parent.stat.NumChildren++
	t.rehash(parentPath, parent)
}

func (t *Tree) delete(w Write) Result {
	n := t.nodes[w.Path]
	switch {
	case w.Path == "/":
		return Result{Code: BadArguments}
	case n == nil:
		return Result{Code: NoNode}
	case w.Version != -1 && w.Version != n.stat.Version:
		return Result{Code: BadVersion}
	case len(n.children) > 0:
		return Result{Code: NotEmpty}
	}
	delete(t.nodes, w.Path)
	t.hash ^= n.hash
	if owner := n.stat.EphemeralOwner; owner != 0 {
		paths := t.ephemerals[owner]
		i := slices.Index(paths, w.Path)
		t.ephemerals[owner] = slices.Delete(paths, i, i+1)
	}
	parentPath := parentOf(w.Path)
	parent := t.nodes[parentPath]
	i, _ := slices.BinarySearchFunc(parent.children, w.Path[strings.LastIndexByte(w.Path, '/')+1:], compareListing)
	parent.children = slices.Delete(parent.children, i, i+1)
	parent.stat.NumChildren--
	parent.stat.Pzxid = max(parent.stat.Pzxid, w.Zxid)
	t.rehash(parentPath, parent)
	return Result{Path: w.Path, Stat: n.copyStat()}
}

func (t *Tree) set(w Write) Result {
	n := t.nodes[w.Path]
	switch {
	case n == nil:
		return Result{Code: NoNode}
	case w.Version != -1 && w.Version != n.stat.Version:
		return Result{Code: BadVersion}
	}
	n.data = w.Data
	n.stat.DataLength = int32(len(w.Data))
	n.stat.Version++
	n.stat.Mzxid = w.Zxid
	n.stat.Mtime = w.Time.Milliseconds()
	t.rehash(w.Path, n)
	return Result{Path: w.Path, Stat: n.copyStat()}
}

// Get returns the data and the stat of a node.
func (t *Tree) Get(path string) Result {
	n := t.nodes[path]
	if n == nil {
		return Result{Code: NoNode}
	}
	return Result{Path: path, Stat: n.copyStat(), Data: n.data}
}

// Children returns the names of a node's children and the node's stat. The order of the names is fixed but means
// nothing: ZooKeeper's is that of a Java HashSet, and a client that relies on any order is wrong.
func (t *Tree) Children(path string) Result {
	n := t.nodes[path]
	if n == nil {
		return Result{Code: NoNode}
	}
	return Result{Path: path, Stat: n.copyStat(), Children: slices.Clone(n.children)}
}

// Ephemerals returns the paths of a session's ephemeral nodes in the order of their creation.
func (t *Tree) Ephemerals(session int64) []string { return slices.Clone(t.ephemerals[session]) }

// SetSequence makes n the number that the next sequential child of the node gets. It stands in for n creations, so
// that a test can start just below 2^31.
func (t *Tree) SetSequence(path string, n int32) Code {
	node := t.nodes[path]
	if node == nil {
		return NoNode
	}
	node.stat.Cversion = n
	t.rehash(path, node)
	return OK
}

// Hash returns 64 bits that are equal for equal trees. It costs nothing: every write keeps it up to date.
func (t *Tree) Hash() uint64 { return t.hash }

func (t *Tree) rehash(path string, n *znode) {
	t.hash ^= n.hash
	n.hash = mix(mix(mix(xxhash.Sum64String(path), uint64(n.stat.Mzxid)), uint64(n.stat.EphemeralOwner)),
		uint64(uint32(n.stat.Cversion))<<32|uint64(uint32(n.stat.Version)))
	t.hash ^= n.hash
}

// copyStat returns the stat as a client sees it: its Cversion counts creations and deletions of children, while the
// server stores creations only.
func (n *znode) copyStat() zk.Stat {
	stat := n.stat
	stat.Cversion = 2*stat.Cversion - stat.NumChildren
	return stat
}

// sequenceSuffix renders a sequence number as Java's "%010d" does: negative numbers have nine digits.
func sequenceSuffix(n int32) string {
	if n < 0 {
		return "-" + pad(strconv.FormatInt(-int64(n), 10), 9)
	}
	return pad(strconv.Itoa(int(n)), 10)
}

func pad(digits string, width int) string {
	if len(digits) >= width {
		return digits
	}
	return "0000000000"[:width-len(digits)] + digits
}

// compareListing orders children by a hash of their names, so that no client passes because a listing happened to
// be sorted.
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

func parentOf(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

// validPath tells whether a path is one that ZooKeeper accepts. A sequential node's path may end in a slash, as the
// sequence number completes it.
func validPath(path string, sequential bool) bool {
	if path == "" || path[0] != '/' {
		return false
	}
	if path == "/" {
		return true
	}
	if sequential && path[len(path)-1] == '/' {
		path += "0"
	}
	for name := range strings.SplitSeq(path[1:], "/") {
		if name == "" || name == "." || name == ".." {
			return false
		}
		for _, r := range name {
			if r <= 0x1f || 0x7f <= r && r <= 0x9f || 0xd800 <= r && r <= 0xf8ff || 0xfff0 <= r && r < math.MaxUint16 {
				return false
			}
		}
	}
	return true
}

// mix folds b into a. It is the finaliser of splitmix64 over a sum, good enough to tell states apart.
func mix(a, b uint64) uint64 {
	x := a*0x9e3779b97f4a7c15 + b + 0x632be59bd9b4e019
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
