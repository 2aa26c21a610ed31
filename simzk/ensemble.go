package simzk

import (
	"slices"

	"github.com/interlock-sim/interlock/simzk/tree"
)

// A server is a server of the ensemble. Without [Config.Lag], a transaction is committed and
// applied everywhere in one step, so all serving servers have the same state.
type server struct {
	id       int // highest byte of the ids of sessions that it opens
	member   Member
	role     role
	up       bool
	dataLost bool  // its data was wiped, and it has not followed a leader since
	clock    clock // times local sessions, and the others while the server leads

	peerState // to the other servers
	replica   // of an ensemble with lag
}

func hasData(s server) bool { return !s.dataLost }

// role is a server's role in the configuration of the ensemble.
type role uint8

const (
	voter    role = iota
	observer      // follows the leader, without a vote
	// not in the configuration; follows the leader all the same while it is connected
	nonMember
)

// noLeader is the index of the leader if there is none.
const noLeader = -1

// newServers returns the servers of a configuration.
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

// AddServer adds a stopped server that is not in the ensemble's configuration, and returns its
// index.
func (c *Cluster) AddServer(id int) int {
	added := server{id: id, role: nonMember, dataLost: true, clock: trueClock}
	if c.config.Lag {
		added.tree = c.preparedTree()
	}
	c.servers = append(c.servers, added)
	return len(c.servers) - 1
}

// Servers returns the number of servers.
func (c *Cluster) Servers() int { return len(c.servers) }

// ServerID returns a server's id in the configuration of the ensemble.
func (c *Cluster) ServerID(server int) int { return c.servers[server].id }

// ClientAddress returns a server's address for clients in the configuration of the ensemble, or ""
// if it has none.
func (c *Cluster) ClientAddress(server int) string { return c.servers[server].member.Client }

// Voters returns the number of servers with a vote.
func (c *Cluster) Voters() int {
	voters := 0
	for i := range c.servers {
		if c.servers[i].role == voter {
			voters++
		}
	}
	return voters
}

// Standalone reports whether the server runs alone, without an ensemble.
func (c *Cluster) Standalone() bool { return len(c.config.Members) == 0 && len(c.servers) == 1 }

// Observer reports whether the server is an observer, which has no vote.
func (c *Cluster) Observer(server int) bool { return c.servers[server].role == observer }

// Up reports whether the server's process runs.
func (c *Cluster) Up(server int) bool { return c.servers[server].up }

// Serving reports whether the server answers clients: it runs and, as far as it knows, belongs to a
// majority with a leader.
func (c *Cluster) Serving(server int) bool { return c.servers[server].serving }

// Leading reports whether the server leads as far as it knows.
func (c *Cluster) Leading(server int) bool { return c.servers[server].leading }

// Leader reports whether the server is the leader. For a single server see [Cluster.Standalone].
func (c *Cluster) Leader(server int) bool { return c.leader == server }

// HasLeader reports whether there is a leader that [Cluster.PartitionServer] does not cut off.
func (c *Cluster) HasLeader() bool { return c.leader != noLeader && !c.Partitioned(c.leader) }

// FullyConnected reports whether all servers run, follow the leader and can reach each other. Then
// only a fault or the end of a session can disconnect a client.
func (c *Cluster) FullyConnected() bool {
	for i := range c.servers {
		if s := &c.servers[i]; !s.up || !s.serving || s.epoch != c.epoch || s.giveUpAt > 0 ||
			s.diskStalled || s.inboundCut || s.outboundCut || s.inboundCutFrom != 0 {
			return false
		}
	}
	return c.leader != noLeader
}

// FollowsQuorum reports whether a server follows a leader that has a majority, and has not been
// paused until just now. The server then keeps serving as long as no server dies and no time
// passes, whatever links are healed.
func (c *Cluster) FollowsQuorum(server int) bool {
	s := &c.servers[server]
	return s.serving && s.epoch == c.epoch && !s.paused && s.noticesAt == 0 &&
		c.leaderHasQuorum()
}

// KillServer ends a server's process. Its clients are disconnected; if it was the leader, or if no
// majority remains, all clients are. Killing a server that is down has no effect.
func (c *Cluster) KillServer(server int) {
	s := &c.servers[server]
	s.up = false
	s.loseUnlogged()
	if s.paused || s.noticesAt > 0 {
		s.paused, s.inboundCut, s.outboundCut = false, false, false
	}
	c.elect(server)
	c.refreshConnectivity()
}

// StartServer restarts a server's process with its data.
func (c *Cluster) StartServer(server int) {
	c.servers[server].up = true
	c.rejoin(server)
	c.refreshConnectivity()
}

// WipeServer deletes the data of a stopped server. The server copies the leader's data when it next
// follows one. All data is lost if no server has any, or if a leader is elected among servers
// without data.
func (c *Cluster) WipeServer(server int) {
	c.servers[server].dataLost = true
	if !slices.ContainsFunc(c.servers, hasData) {
		c.wipeAll()
	}
}

// wipeAll deletes all data.
func (c *Cluster) wipeAll() {
	c.tree = tree.New(c.rules())
	if c.config.Lag {
		c.log = log{}
		for i := range c.servers {
			s := &c.servers[i]
			s.replica = replica{tree: tree.New(c.rules()), disk: disk{diskStalled: s.diskStalled}}
		}
	}
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
			// Requests sent before the crash may still be queued, or have set watches.
			c.drop(l)
		case l.Connected():
			c.closeConnection(l)
		}
	}
}
