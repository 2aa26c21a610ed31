package tcp

import (
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/tree"
)

// A Snapshot is the state of an ensemble at one instant.
type Snapshot struct {
	Status
	Sessions []simzk.SessionInfo // by id; their servers are indices into Status.Servers
	Watches  []simzk.WatchInfo   // by path; their servers are such indices, too
	Nodes    []tree.NodeInfo     // by path, as the leader has them
}

// Snapshot returns the state of the ensemble.
func (s *Server) Snapshot() Snapshot {
	var shot Snapshot
	s.do(func() {
		shot = Snapshot{
			Status: s.status(), Sessions: s.cluster.SessionList(),
			Watches: s.cluster.WatchList(), Nodes: s.cluster.Tree().NodeList(),
		}
	})
	return shot
}
