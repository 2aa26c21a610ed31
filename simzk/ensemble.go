package simzk

import (
	"slices"

	"github.com/interlock-sim/interlock/simzk/tree"
)

// A server is a server of the ensemble. Without [Config.Lag] the ensemble commits and applies in
// one step, so all servers that serve have the same state.
type server struct {
	id       int // the highest byte of the ids of sessions that it opens
	member   Member
	role     role
	up       bool
	dataLost bool  // has lost its data and not yet taken over that of a leader
	clock    clock // by which it times sessions while it leads

	peerState // to the other servers
	replica   // of an ensemble with lag
}

func hasData(s server) bool { return !s.dataLost }

// role is what the configuration of the ensemble makes of a server.
type role uint8

const (
	voter    role = iota
	observer      // follows the leader without a vote
	// no part of the configuration, follows the leader all the same while it is connected
	nonMember
)

// noLeader is the index of the leader while there is none.
const noLeader = -1

// newServers returns the servers that a configuration names.
func newServers(config *Config) []server {
	if len(config.Members) == 0 {
		servers := make([]server, max(1, config.Servers))
		for i := range servers {
			servers[i] = server{id: i + 1, up: !config.Down, clock: trueClock}
		}
		return servers
	}
	servers := make([]server, len(config.Members))
	for i, m := range config.Members {
		servers[i] = server{
			id: m.ID, member: m, role: roleOf(m), up: !config.Down,
			clock: trueClock,
		}
	}
	return servers
}

func roleOf(m Member) role {
	if m.Observer {
		return observer
	}
	return voter
}

// AddServer adds a server that runs not yet and is no part of the ensemble's configuration, and
// returns its index.
func (c *Cluster) AddServer(id int) int {
	c.servers = append(c.servers, server{id: id, role: nonMember, dataLost: true, clock: trueClock})
	return len(c.servers) - 1
}

// Servers returns how many servers the ensemble has.
func (c *Cluster) Servers() int { return len(c.servers) }

// ServerID returns a server's number in the configuration of the ensemble.
func (c *Cluster) ServerID(server int) int { return c.servers[server].id }

// Voters returns how many servers have a vote.
func (c *Cluster) Voters() int {
	voters := 0
	for i := range c.servers {
		if c.servers[i].role == voter {
			voters++
		}
	}
	return voters
}

// Standalone tells whether there is but one server, which needs nobody's vote.
func (c *Cluster) Standalone() bool { return len(c.config.Members) == 0 && len(c.servers) == 1 }

// Observer tells whether the configuration of the ensemble gives the server no vote.
func (c *Cluster) Observer(server int) bool { return c.servers[server].role == observer }

// Up tells whether the server's process runs.
func (c *Cluster) Up(server int) bool { return c.servers[server].up }

// Serving tells whether the server answers clients: it runs, and as far as it knows it is one of a
// majority that has a leader.
func (c *Cluster) Serving(server int) bool { return c.servers[server].serving }

// Leader tells whether the server is the leader. A server that is alone is none; see
// [Cluster.Standalone].
func (c *Cluster) Leader(server int) bool { return c.leader == server }

// HasLeader tells whether there is a leader that a majority follows.
func (c *Cluster) HasLeader() bool { return c.leader != noLeader && !c.Partitioned(c.leader) }

// FullyConnected tells whether all servers run, follow the leader, and hear of each other, so that
// only a fault or the end of a session can cost a client its connection.
func (c *Cluster) FullyConnected() bool {
	for i := range c.servers {
		if s := &c.servers[i]; !s.up || !s.serving || s.epoch != c.epoch || s.giveUpAt > 0 ||
			s.inboundCut || s.outboundCut || s.inboundCutFrom != 0 {
			return false
		}
	}
	return c.leader != noLeader
}

// Secure tells whether a server follows a leader that has a majority behind it, so that it goes on
// as long as no server dies and no time passes, whatever is mended meanwhile.
func (c *Cluster) Secure(server int) bool {
	s := &c.servers[server]
	return s.serving && s.epoch == c.epoch && c.leaderHasQuorum()
}

// KillServer ends a server's process. Its clients lose their connections; if it was the leader, or
// if no majority is left, all clients do. A server that is down already stays so.
func (c *Cluster) KillServer(server int) {
	c.servers[server].up = false
	c.elect(server)
	c.refreshConnectivity()
}

// StartServer starts a server's process again, with the data that it had.
func (c *Cluster) StartServer(server int) {
	c.servers[server].up = true
	c.rejoin(server)
	c.refreshConnectivity()
}

// WipeServer takes away the data of a server that does not run. It has those of the others again
// once it follows a leader. All data is lost when no server has any, or when a leader is elected of
// servers that have none.
func (c *Cluster) WipeServer(server int) {
	c.servers[server].dataLost = true
	if !slices.ContainsFunc(c.servers, hasData) {
		c.wipeAll()
	}
}

// wipeAll loses all data.
func (c *Cluster) wipeAll() {
	c.tree = tree.New(c.rules())
	c.sessions, c.zxid, c.configVersion = nil, 0, 0
	for _, l := range c.links {
		l.session = nil
	}
}

func (c *Cluster) dropClients(of func(*Link) bool) {
	for _, l := range slices.Clone(c.links) {
		switch {
		case !of(l):
		case l.crashed.Load():
			// Requests that were sent before the crash may still be there, and have set watches.
			c.drop(l)
		case l.Connected():
			c.closeConnection(l)
		}
	}
}
