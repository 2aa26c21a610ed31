package simzk

import (
	"slices"

	"github.com/interlock-sim/interlock/simzk/tree"
)

// A server is a member of the ensemble. The ensemble commits and applies in one step, so all members that serve have
// the same state.
type server struct {
	id    int // the highest byte of the ids of sessions that it opens, from 1
	up    bool
	apart bool // cut off from all other servers
	blank bool // has lost its data and not yet taken over that of a leader
}

// noLeader is the index of the leader while there is none.
const noLeader = -1

// Servers returns how many servers the ensemble has.
func (c *Cluster) Servers() int { return len(c.servers) }

// Up tells whether the server's process runs.
func (c *Cluster) Up(server int) bool { return c.servers[server].up }

// Serving tells whether the server answers clients: it runs, and is one of a majority that has a leader.
func (c *Cluster) Serving(server int) bool {
	return c.leader != noLeader && c.servers[server].up && !c.servers[server].apart
}

// Leader tells whether the server is the leader. A server that is alone is none; see [Cluster.Servers].
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

// WipeServer takes a server's data away. What no other server has is lost.
func (c *Cluster) WipeServer(number int) {
	c.servers[number].blank = true
	if !slices.ContainsFunc(c.servers, func(member server) bool { return !member.blank }) {
		c.reset()
	}
}

// CutServer cuts a server off from the others, so that it cannot serve unless it is alone.
func (c *Cluster) CutServer(server int) {
	c.servers[server].apart = len(c.servers) > 1
	c.elect(server)
}

// HealServer connects a server with the others again.
func (c *Cluster) HealServer(server int) {
	c.servers[server].apart = false
	c.elect(server)
}

// elect finds out who leads now that something has changed about a server.
func (c *Cluster) elect(changed int) {
	if !c.Serving(changed) {
		c.dropClients(func(l *Link) bool { return l.server == changed })
	}
	members := 0
	for _, s := range c.servers {
		if s.up && !s.apart {
			members++
		}
	}
	if members <= len(c.servers)/2 {
		c.leader = noLeader
		c.dropClients(func(*Link) bool { return true })
		return
	}
	if c.leader != noLeader && c.servers[c.leader].up && !c.servers[c.leader].apart {
		c.adopt()
		return
	}
	c.dropClients(func(*Link) bool { return true })
	c.lead()
}

// lead makes a server the leader, of those that can the one with the highest id that has the data: a new epoch begins,
// and with it the time of every session (the constructor of SessionTrackerImpl).
func (c *Cluster) lead() {
	c.leader = noLeader
	for i, s := range c.servers {
		if s.up && !s.apart && (c.leader == noLeader || !s.blank || c.servers[c.leader].blank) {
			c.leader = i
		}
	}
	c.adopt()
	if len(c.servers) > 1 {
		c.zxid = (c.zxid>>32 + 1) << 32
	}
	for _, s := range c.sessions {
		s.touch(c.now, c.config.TickTime)
	}
}

// adopt lets all servers that the leader can reach take over its data.
func (c *Cluster) adopt() {
	for i := range c.servers {
		if s := &c.servers[i]; s.up && !s.apart {
			s.blank = false
		}
	}
}

func (c *Cluster) dropClients(of func(*Link) bool) {
	for _, l := range slices.Clone(c.links) {
		if of(l) && l.Connected() {
			c.hangUp(l)
		}
	}
}

// reset loses all data.
func (c *Cluster) reset() {
	c.tree = tree.New(c.rules())
	c.sessions, c.zxid = nil, 0
	for _, l := range c.links {
		l.session = nil
	}
}
