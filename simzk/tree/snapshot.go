package tree

// A Snapshot is a copy of a tree's state. The next [Tree.Save] into it reuses its memory.
type Snapshot struct {
	version    uint64
	hash       uint64
	stateHash  uint64 // of the version stateOf
	stateOf    uint64
	nodePool   []znode
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

// Save copies the tree's state into the snapshot. It must not be called during a multi. It takes
// time linear in the number of nodes.
func (t *Tree) Save(s *Snapshot) {
	s.version, s.hash, s.nodePool = t.version, t.hash, t.nodePool
	s.stateHash, s.stateOf = t.stateHash, t.stateOf
	s.nodes, s.children = s.nodes[:0], s.children[:0]
	for path, n := range t.nodes {
		s.nodes = append(s.nodes, savedNode{path, n, *n})
		s.children = append(s.children, n.children...)
	}
	s.ephemerals, s.paths = s.ephemerals[:0], s.paths[:0]
	for owner, paths := range t.ephemerals {
		s.ephemerals = append(s.ephemerals, savedPaths{owner, paths})
		s.paths = append(s.paths, paths...)
	}
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
	clear(t.nodes)
	children := s.children
	for i := range s.nodes {
		saved := &s.nodes[i]
		t.nodes[saved.path] = saved.node
		*saved.node = saved.state
		children = children[copy(saved.node.children, children):]
	}
	clear(t.ephemerals)
	paths := s.paths
	for i := range s.ephemerals {
		saved := &s.ephemerals[i]
		t.ephemerals[saved.owner] = saved.paths
		paths = paths[copy(saved.paths, paths):]
	}
}
