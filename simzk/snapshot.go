package simzk

import (
	"slices"

	"github.com/interlock-sim/interlock/simzk/tree"
)

// A Snapshot is the state of a cluster at one moment, if every client has a [StubClient] in the
// place of its process. A snapshot holds copies of the objects' values, and restoring writes them
// back into the same objects, so that all pointers stay valid. The next [Cluster.Save] reuses its
// memory.
type Snapshot struct {
	cluster   Cluster
	sessions  sliceCopy[*session]
	links     sliceCopy[*Link]
	servers   sliceCopy[server]
	proposals sliceCopy[proposal]
	answers   []sliceCopy[delayedReply] // by server
	trees     []savedTree
	opened    objectCopies[session]
	clients   []savedClient
	requests  objectCopies[request]
	calls     objectCopies[call]
	data      savedWatches
	child     savedWatches
	watches   objectCopies[watch]
}

// A sliceCopy is a slice and a copy of its elements.
type sliceCopy[T any] struct{ slice, elements []T }

func (k *sliceCopy[T]) save(slice []T) {
	k.slice, k.elements = slice,
		append(k.elements[:0], slice...)
}
func (k *sliceCopy[T]) restore() { copy(k.slice, k.elements) }

// objectCopies are pointers to objects and copies of their values.
type objectCopies[T any] struct {
	objects []*T
	values  []T
}

func (c *objectCopies[T]) reset() { c.objects, c.values = c.objects[:0], c.values[:0] }

func (c *objectCopies[T]) save(objects ...*T) {
	for _, object := range objects {
		c.objects, c.values = append(c.objects, object), append(c.values, *object)
	}
}

func (c *objectCopies[T]) restore() {
	for i, object := range c.objects {
		*object = c.values[i]
	}
}

// extend returns the slice with one more element, and a pointer to that. It reuses the memory of an
// earlier element there.
func extend[T any](s []T) ([]T, *T) {
	if len(s) < cap(s) {
		s = s[:len(s)+1]
	} else {
		var zero T
		s = append(s, zero)
	}
	return s, &s[len(s)-1]
}

type savedTree struct {
	tree     *tree.Tree
	snapshot tree.Snapshot
}

// A savedClient is a saved client with its link.
type savedClient struct {
	conn *Conn

	link     linkState
	crashed  bool
	guids    uint64
	toServer sliceCopy[*request]
	toClient sliceCopy[message]

	state        connState
	sessionID    int64
	status       int32
	closed       bool
	hasSubmitted bool
	submitted    sliceCopy[*call]
	recycled     []*call
	waiting      sliceCopy[*call]
	unsent       sliceCopy[*call]
	inFlight     sliceCopy[*call]
	watchers     sliceCopy[watcher]
	channels     []sliceCopy[watchChannel] // by watcher

	stub    StubClient
	calls   sliceCopy[*call]
	watches sliceCopy[int32]
}

// savedWatches is a saved table of watches.
type savedWatches []struct {
	path    string
	watches sliceCopy[*watch]
}

// CanSave reports whether [Cluster.Save] applies to the cluster: every client has a stub, and there
// is no mutation.
func (c *Cluster) CanSave() bool {
	return c.mutation == 0 && !slices.ContainsFunc(c.links, func(l *Link) bool {
		conn, ok := l.end.(*Conn)
		return !ok || conn.stub == nil
	})
}

// Save stores the cluster's present state, between two steps, in the snapshot; see
// [Cluster.CanSave]. It takes time linear in the size of the state.
func (c *Cluster) Save(s *Snapshot) {
	s.cluster = *c
	s.sessions.save(c.sessions)
	s.links.save(c.links)
	s.servers.save(c.servers)
	s.proposals.save(c.proposals)
	s.opened.reset()
	s.opened.save(c.opened...)
	s.requests.reset()
	s.calls.reset()
	s.trees, s.answers = s.trees[:0], s.answers[:0]
	s.saveTree(c.tree)
	for i := range c.servers {
		if c.config.Lag {
			s.saveTree(c.servers[i].tree)
		}
		var answers *sliceCopy[delayedReply]
		s.answers, answers = extend(s.answers)
		answers.save(c.servers[i].answers)
		for j := range answers.elements {
			s.requests.save(answers.elements[j].request)
		}
	}
	s.watches.reset()
	s.data.save(c.watches.data, &s.watches)
	s.child.save(c.watches.child, &s.watches)
	s.clients = s.clients[:0]
	for _, l := range c.links {
		var client *savedClient
		s.clients, client = extend(s.clients)
		client.save(l.end.(*Conn), s)
	}
}

func (s *Snapshot) saveTree(t *tree.Tree) {
	var saved *savedTree
	s.trees, saved = extend(s.trees)
	saved.tree = t
	t.Save(&saved.snapshot)
}

func (w *savedWatches) save(table map[string][]*watch, all *objectCopies[watch]) {
	*w = (*w)[:0]
	for path, watches := range table {
		entries, entry := extend(*w)
		*w = entries
		entry.path = path
		entry.watches.save(watches)
		all.save(watches...)
	}
}

func (s *savedClient) save(c *Conn, all *Snapshot) {
	l, stub := c.Link, c.stub
	s.conn, s.link, s.crashed, s.guids = c, l.linkState, l.crashed.Load(), l.guidCount.Load()
	s.toServer.save(l.toServer)
	all.requests.save(l.toServer...)
	s.toClient.save(l.toClient)
	for i := range l.toClient {
		if reply := l.toClient[i].reply; reply != nil {
			all.requests.save(reply)
		}
	}
	s.state, s.sessionID, s.status = c.connState, c.sessionID.Load(), c.status.Load()
	s.closed, s.hasSubmitted = c.closed.Load(), c.hasSubmitted.Load()
	s.submitted.save(c.submitted)
	s.recycled = c.recycled
	s.waiting.save(c.waiting)
	s.unsent.save(c.unsent)
	s.inFlight.save(c.inFlight)
	s.watchers.save(c.watchers)
	s.channels = s.channels[:0]
	for i := range c.watchers {
		var channels *sliceCopy[watchChannel]
		s.channels, channels = extend(s.channels)
		channels.save(c.watchers[i].channels)
	}
	s.stub = *stub
	s.calls.save(stub.calls)
	s.watches.save(stub.watches)
	for _, calls := range [...][]*call{c.submitted, c.waiting, c.unsent, c.inFlight, stub.calls} {
		all.calls.save(calls...)
	}
}

// Restore resets the cluster to a snapshot of it. Later snapshots become invalid.
func (c *Cluster) Restore(s *Snapshot) {
	*c = s.cluster
	s.sessions.restore()
	s.links.restore()
	s.servers.restore()
	s.proposals.restore()
	s.opened.restore()
	s.requests.restore()
	s.calls.restore()
	for i := range s.answers {
		s.answers[i].restore()
	}
	for i := range s.trees {
		s.trees[i].tree.Restore(&s.trees[i].snapshot)
	}
	s.data.restore(c.watches.data)
	s.child.restore(c.watches.child)
	s.watches.restore()
	for i := range s.clients {
		s.clients[i].restore()
	}
}

func (w savedWatches) restore(table map[string][]*watch) {
	clear(table)
	for i := range w {
		w[i].watches.restore()
		table[w[i].path] = w[i].watches.slice
	}
}

func (s *savedClient) restore() {
	c, l := s.conn, s.conn.Link
	l.linkState = s.link
	l.crashed.Store(s.crashed)
	l.guidCount.Store(s.guids)
	s.toServer.restore()
	s.toClient.restore()
	c.connState = s.state
	c.sessionID.Store(s.sessionID)
	c.status.Store(s.status)
	c.closed.Store(s.closed)
	c.hasSubmitted.Store(s.hasSubmitted)
	c.submitted, c.recycled, c.waiting = s.submitted.slice, s.recycled, s.waiting.slice
	s.submitted.restore()
	s.waiting.restore()
	s.unsent.restore()
	s.inFlight.restore()
	s.watchers.restore()
	for i := range s.channels {
		s.channels[i].restore()
	}
	*c.stub = s.stub
	s.calls.restore()
	s.watches.restore()
}
