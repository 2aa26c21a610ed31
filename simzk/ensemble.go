package simzk

import (
	"slices"

	"github.com/interlock-sim/interlock/simzk/tree"
)

// A server is a server of the ensemble. The ensemble commits and applies in one step, so all servers that serve have
// the same state.
type server struct {
	id     int // the highest byte of the ids of sessions that it opens
	member Member
	role   role
	up     bool
	apart  bool // cut off from all other servers
	blank  bool // has lost its data and not yet taken over that of a leader

	replica // of an ensemble with lag
}

// role is what the configuration of the ensemble makes of a server.
type role uint8

const (
	voter    role = iota
	observer      // follows the leader without a vote
	outsider      // no part of the configuration, follows the leader all the same while it is connected
)

// noLeader is the index of the leader while there is none.
const noLeader = -1

// newServers returns the servers that a configuration names.
func newServers(config *Config) []server {
	if len(config.Members) == 0 {
		servers := make([]server, max(1, config.Servers))
		for i := range servers {
			servers[i] = server{id: i + 1, up: !config.Down}
		}
		return servers
	}
	servers := make([]server, len(config.Members))
	for i, m := range config.Members {
		servers[i] = server{id: m.ID, member: m, role: roleOf(m), up: !config.Down}
	}
	return servers
}

func roleOf(m Member) role {
	if m.Observer {
		return observer
	}
	return voter
}

// AddServer adds a server that runs not yet and is no part of the ensemble's configuration, and returns its index.
func (c *Cluster) AddServer(id int) int {
	c.servers = append(c.servers, server{id: id, role: outsider, blank: true})
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

// reachable tells whether the server runs and is connected with the others.
func (s *server) reachable() bool { return s.up && !s.apart }

// Serving tells whether the server answers clients: it runs, and is one of a majority that has a leader.
func (c *Cluster) Serving(server int) bool {
	return c.leader != noLeader && c.servers[server].reachable()
}

// Leader tells whether the server is the leader. A server that is alone is none; see [Cluster.Standalone].
func (c *Cluster) Leader(server int) bool { return c.leader == server }

// KillServer ends a server's process. Its clients lose their connections; if it was the leader, or if no majority is
// left, all clients do. A server that is down already stays so.
func (c *Cluster) KillServer(server int) {
	c.servers[server].up = false
	c.elect(server)
}

// StartServer starts a server's process again, with the data that it had.
func (c *Cluster) StartServer(server int) {
	c.servers[server].up = true
	c.elect(server)
}

// WipeServer takes away the data of a server that does not run. What no other server has is lost.
func (c *Cluster) WipeServer(number int) {
	c.servers[number].blank = true
	if !slices.ContainsFunc(c.servers, func(s server) bool { return !s.blank }) {
		c.reset()
	}
}

// CutServer cuts a server off from the others, so that it cannot serve unless it is alone.
func (c *Cluster) CutServer(server int) {
	c.servers[server].apart = !c.Standalone()
	c.elect(server)
}

// HealServer connects a server with the others again.
func (c *Cluster) HealServer(server int) {
	c.servers[server].apart = false
	c.elect(server)
}

// elect finds out who leads now that something has changed about a server. When there is a new leader, or none, every
// client loses its connection, because every server that follows starts anew.
func (c *Cluster) elect(changed int) {
	if c.leader == noLeader || !c.servers[c.leader].reachable() || !c.quorum() {
		c.leader = noLeader
		c.dropClients(func(*Link) bool { return true })
		if c.quorum() {
			c.lead()
		}
		return
	}
	if !c.Serving(changed) {
		c.dropClients(func(l *Link) bool { return l.server == changed })
		return
	}
	c.adopt()
	c.catchUpServer(changed)
}

// quorum tells whether a majority of the voters can reach each other.
func (c *Cluster) quorum() bool {
	reachable := 0
	for i := range c.servers {
		if s := &c.servers[i]; s.role == voter && s.reachable() {
			reachable++
		}
	}
	return reachable > c.Voters()/2
}

// lead makes a server the leader, of those that can the one with the highest id that has the data: a new epoch begins,
// and with it the time of every session (the constructor of SessionTrackerImpl).
func (c *Cluster) lead() {
	c.leader = noLeader
	for i := range c.servers {
		if s := &c.servers[i]; s.role == voter && s.reachable() && (c.leader == noLeader || c.precedes(c.leader, i)) {
			c.leader = i
		}
	}
	c.adopt()
	c.catchUp()
	if !c.Standalone() {
		c.zxid = (c.zxid>>32 + 1) << 32
		for i := range c.servers {
			if s := &c.servers[i]; s.reachable() {
				s.zxid = c.zxid
			}
		}
		c.configure()
	}
	for _, s := range c.sessions {
		s.touch(c.now, c.config.TickTime)
	}
}

// precedes tells whether the second of two candidates has the better claim to lead.
func (c *Cluster) precedes(first, second int) bool {
	a, b := &c.servers[first], &c.servers[second]
	if a.blank != b.blank {
		return a.blank
	}
	return a.id < b.id
}

// adopt lets all servers that the leader can reach take over its data.
func (c *Cluster) adopt() {
	for i := range c.servers {
		if s := &c.servers[i]; s.reachable() {
			s.blank = false
		}
	}
}

func (c *Cluster) dropClients(of func(*Link) bool) {
	for _, l := range slices.Clone(c.links) {
		switch {
		case !of(l):
		case l.crashed.Load():
			c.drop(l) // Requests that were sent before the crash may still be there, and have set watches.
		case l.Connected():
			c.hangUp(l)
		}
	}
}

// reset loses all data.
func (c *Cluster) reset() {
	c.tree = tree.New(c.rules())
	c.sessions, c.zxid, c.configVersion = nil, 0, 0
	for _, l := range c.links {
		l.session = nil
	}
}
