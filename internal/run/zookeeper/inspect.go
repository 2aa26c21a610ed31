package zookeeper

import (
	"fmt"
	"strings"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/sim"
	"github.com/interlock-sim/interlock/simzk"
)

var _ sim.Inspector = (*System)(nil)

// Inspect describes the cluster and its clients. It leaves out the znodes that every ZooKeeper has.
func (z *System) Inspect() *sim.Inspection {
	i := &sim.Inspection{
		Nodes: []sim.Node{}, Sessions: []sim.Session{}, Watches: []sim.Watch{},
	}
	owners := make(map[int64]int32)
	for _, s := range z.cluster.SessionList() {
		owners[s.ID] = int32(s.Process)
		i.Sessions = append(i.Sessions, sim.Session{
			ID: sessionName(s.ID), Process: int32(s.Process), Server: int32(s.Server + 1),
			Expires: s.Expires,
		})
	}
	for _, n := range z.cluster.Tree().NodeList() {
		if n.Path == "/" || n.Path == "/zookeeper" || strings.HasPrefix(n.Path, "/zookeeper/") {
			continue
		}
		node := sim.Node{Path: n.Path, Data: string(n.Data), Version: n.Stat.Version}
		if owner := n.Stat.EphemeralOwner; owner != 0 {
			node.Session, node.Process = sessionName(owner), owners[owner]
		}
		i.Nodes = append(i.Nodes, node)
	}
	for _, w := range z.cluster.WatchList() {
		i.Watches = append(i.Watches, sim.Watch{
			Number: w.Number, Path: w.Path, Children: w.Children, Process: int32(w.Process),
			Server: int32(w.Server + 1),
		})
	}
	for server := range z.cluster.Servers() {
		i.Servers = append(i.Servers, sim.Server{
			Number: int32(server + 1), Up: z.cluster.Up(server), Leader: z.cluster.Leader(server),
			Partitioned: z.cluster.Partitioned(server),
			Applied:     history.FormatZxid(z.cluster.ServerZxid(server)),
		})
	}
	for _, c := range z.clients {
		i.Peers = append(i.Peers, c.inspect())
	}
	return i
}

// inspect describes the client.
func (c *processClient) inspect() sim.Peer {
	peer := sim.Peer{
		Process: int32(c.Process()), Connected: c.Connected(), Server: int32(c.ServerIndex() + 1),
		Crashed: c.Crashed(), Paused: c.Paused(), Down: c.Down(),
		Requests: c.Requests(), Messages: c.Messages(),
	}
	for _, further := range c.Further() {
		peer.Connected = peer.Connected || further.Connected()
		peer.Requests = append(peer.Requests, further.Requests()...)
		peer.Messages = append(peer.Messages, further.Messages()...)
	}
	if r := c.pending(); r != nil && !c.Crashed() {
		peer.Awaits = simzk.DescribeRequest(r)
	}
	return peer
}

func sessionName(id int64) string { return fmt.Sprintf("%#x", uint64(id)) }
