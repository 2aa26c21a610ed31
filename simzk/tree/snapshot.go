package tree

// A Snapshot is what a tree was at one moment. Its memory is used again by the next [Tree.Save].
type Snapshot struct {
	hash       uint64
	first      []znode
	nodes      []savedNode
	children   []string // of all nodes, one after the other
	ephemerals []savedPaths
	paths      []string // of all sessions, one after the other
}

type savedNode struct {
	path string
	node *znode
	was  znode
}

type savedPaths struct {
	owner int64
	paths []string
}

// Save makes the snapshot one of the tree as it is now. No multi may be under way. It takes time
// linear in the number of nodes.
func (t *Tree) Save(s *Snapshot) {
	s.hash, s.first = t.hash, t.first
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

// Restore makes the tree what it was when the snapshot was taken of it. Snapshots that were taken
// later are void then.
func (t *Tree) Restore(s *Snapshot) {
	t.hash, t.first, t.changes = s.hash, s.first, t.changes[:0]
	clear(t.nodes)
	children := s.children
	for i := range s.nodes {
		one := &s.nodes[i]
		t.nodes[one.path] = one.node
		*one.node = one.was
		children = children[copy(one.node.children, children):]
	}
	clear(t.ephemerals)
	paths := s.paths
	for i := range s.ephemerals {
		one := &s.ephemerals[i]
		t.ephemerals[one.owner] = one.paths
		paths = paths[copy(one.paths, paths):]
	}
}
