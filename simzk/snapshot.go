package simzk

import (
	"slices"

	"github.com/interlock-sim/interlock/simzk/internal/memory"
	"github.com/interlock-sim/interlock/simzk/tree"
)

// A Snapshot is the state of a cluster at one moment, if every client is a [ModelEnd] that can be
// saved. A snapshot holds copies of the objects' values, and restoring writes them back into the
// same objects, so that all pointers stay valid. The next [Cluster.Save] reuses its memory.
type Snapshot struct {
	cluster   Cluster
	sessions  memory.SliceCopy[*session]
	links     memory.SliceCopy[*Link]
	servers   memory.SliceCopy[server]
	proposals memory.SliceCopy[proposal]
	answers   []memory.SliceCopy[delayedReply] // by server
	trees     []savedTree
	opened    memory.ObjectCopies[session]
	clients   []savedLink
	requests  memory.ObjectCopies[Exchange]
	data      savedWatches
	child     savedWatches
	watches   memory.ObjectCopies[watch]
}

type savedTree struct {
	tree     *tree.Tree
	snapshot tree.Snapshot
}

// A savedLink is a saved link with its client.
type savedLink struct {
	link     *Link
	state    linkState
	crashed  bool
	toServer memory.SliceCopy[*Exchange]
	toClient memory.SliceCopy[Message]
	client   any // saved by the [ModelEnd]
}

// savedWatches is a saved table of watches.
type savedWatches []struct {
	path    string
	watches memory.SliceCopy[*watch]
}

// CanSave reports whether [Cluster.Save] applies to the cluster: every client is a [ModelEnd] that
// can be saved.
func (c *Cluster) CanSave() bool {
	return !slices.ContainsFunc(c.links, func(l *Link) bool {
		return l.model == nil || !l.model.CanSave()
	})
}

// Save stores the cluster's present state, between two steps, in the snapshot; see
// [Cluster.CanSave]. It takes time linear in the size of the state.
func (c *Cluster) Save(s *Snapshot) {
	s.cluster = *c
	s.sessions.Save(c.sessions)
	s.links.Save(c.links)
	s.servers.Save(c.servers)
	s.proposals.Save(c.proposals)
	s.opened.Reset()
	s.opened.Save(c.opened...)
	s.requests.Reset()
	s.trees, s.answers = s.trees[:0], s.answers[:0]
	s.saveTree(c.tree)
	for i := range c.servers {
		if c.config.Lag {
			s.saveTree(c.servers[i].tree)
		}
		var answers *memory.SliceCopy[delayedReply]
		s.answers, answers = memory.Extend(s.answers)
		answers.Save(c.servers[i].answers)
		for j := range answers.Elements {
			s.requests.Save(answers.Elements[j].request)
		}
	}
	s.watches.Reset()
	s.data.save(c.watches.data, &s.watches)
	s.child.save(c.watches.child, &s.watches)
	s.clients = s.clients[:0]
	for _, l := range c.links {
		var saved *savedLink
		s.clients, saved = memory.Extend(s.clients)
		saved.save(l, s)
	}
}

func (s *Snapshot) saveTree(t *tree.Tree) {
	var saved *savedTree
	s.trees, saved = memory.Extend(s.trees)
	saved.tree = t
	t.Save(&saved.snapshot)
}

func (w *savedWatches) save(table map[string][]*watch, all *memory.ObjectCopies[watch]) {
	*w = (*w)[:0]
	for path, watches := range table {
		entries, entry := memory.Extend(*w)
		*w = entries
		entry.path = path
		entry.watches.Save(watches)
		all.Save(watches...)
	}
}

func (s *savedLink) save(l *Link, all *Snapshot) {
	s.link, s.state, s.crashed = l, l.linkState, l.crashed.Load()
	s.toServer.Save(l.toServer)
	all.requests.Save(l.toServer...)
	s.toClient.Save(l.toClient)
	for i := range l.toClient {
		if reply := l.toClient[i].Reply; reply != nil {
			all.requests.Save(reply)
		}
	}
	s.client = l.model.Save(s.client)
}

// Restore resets the cluster to a snapshot of it. Later snapshots become invalid.
func (c *Cluster) Restore(s *Snapshot) {
	*c = s.cluster
	s.sessions.Restore()
	s.links.Restore()
	s.servers.Restore()
	s.proposals.Restore()
	s.opened.Restore()
	s.requests.Restore()
	for i := range s.answers {
		s.answers[i].Restore()
	}
	for i := range s.trees {
		s.trees[i].tree.Restore(&s.trees[i].snapshot)
	}
	s.data.restore(c.watches.data)
	s.child.restore(c.watches.child)
	s.watches.Restore()
	for i := range s.clients {
		s.clients[i].restore()
	}
}

func (w savedWatches) restore(table map[string][]*watch) {
	clear(table)
	for i := range w {
		w[i].watches.Restore()
		table[w[i].path] = w[i].watches.Slice
	}
}

func (s *savedLink) restore() {
	l := s.link
	l.linkState = s.state
	l.crashed.Store(s.crashed)
	s.toServer.Restore()
	s.toClient.Restore()
	l.model.Restore(s.client)
}
