package tree

// A Snapshot is a copy of a tree's state. The next [Tree.Save] into it reuses its memory. Snapshots
// between which the tree has not changed share a copy of its content.
type Snapshot struct {
	version   uint64
	hash      uint64
	stateHash uint64 // of the version stateOf
	stateOf   uint64
	nodePool  []znode
	content   *content
}

// A content is a copy of the nodes of a tree.
type content struct {
	tree       *Tree
	version    uint64 // of the tree
	snapshots  int    // how many have it
	nodes      []savedNode
	children   []string // of all nodes, concatenated
	ephemerals []savedPaths
	paths      []string // of all sessions, concatenated
}

type savedNode struct {
	path  string
	node  *znode
	state znode
}

type savedPaths struct {
	owner int64
	paths []string
}

// Save copies the tree's state into the snapshot, which must be new or of this tree. It must not be
// called during a multi. If nothing was written since another snapshot was taken of the tree or
// restored, it takes constant time, and otherwise time linear in the number of nodes.
func (t *Tree) Save(s *Snapshot) {
	s.version, s.hash, s.nodePool = t.version, t.hash, t.nodePool
	s.stateHash, s.stateOf = t.stateHash, t.stateOf
	before := s.content
	if t.saved == nil || t.saved.version != t.version {
		t.saved = t.copyContent()
	}
	s.content = t.saved
	s.content.snapshots++
	if before != nil {
		if before.snapshots--; before.snapshots == 0 && before.tree == t && before != t.saved {
			t.spareContents = append(t.spareContents, before)
		}
	}
}

// copyContent returns a copy of the nodes, in the memory of one that no snapshot has any more.
func (t *Tree) copyContent() *content {
	c := new(content)
	if last := len(t.spareContents) - 1; last >= 0 {
		c, t.spareContents = t.spareContents[last], t.spareContents[:last]
	}
	c.tree, c.version = t, t.version
	c.nodes, c.children = c.nodes[:0], c.children[:0]
	for path, n := range t.nodes {
		c.nodes = append(c.nodes, savedNode{path, n, *n})
		c.children = append(c.children, n.children...)
	}
	c.ephemerals, c.paths = c.ephemerals[:0], c.paths[:0]
	for owner, paths := range t.ephemerals {
		c.ephemerals = append(c.ephemerals, savedPaths{owner, paths})
		c.paths = append(c.paths, paths...)
	}
	return c
}

// Restore resets the tree to the snapshot, which must have been taken of this tree. It invalidates
// all snapshots taken later. If nothing was written since, it takes constant time.
func (t *Tree) Restore(s *Snapshot) {
	t.changes = t.changes[:0]
	if t.version == s.version {
		return
	}
	t.version, t.hash, t.nodePool = s.version, s.hash, s.nodePool
	t.stateHash, t.stateOf = s.stateHash, s.stateOf
	t.saved = s.content
	clear(t.nodes)
	children := s.content.children
	for i := range s.content.nodes {
		saved := &s.content.nodes[i]
		t.nodes[saved.path] = saved.node
		*saved.node = saved.state
		children = children[copy(saved.node.children, children):]
	}
	clear(t.ephemerals)
	paths := s.content.paths
	for i := range s.content.ephemerals {
		saved := &s.content.ephemerals[i]
		t.ephemerals[saved.owner] = saved.paths
		paths = paths[copy(saved.paths, paths):]
	}
}
