package simzk

import (
	"slices"
	"time"
)

// A peerState is what a server knows of the others, and whether messages pass between them.
type peerState struct {
	// it hears nothing of the other servers; they hear nothing of it
	inboundCut, outboundCut bool
	// those of which it hears nothing, one bit for each; see [Cluster.PartitionLink]
	inboundCutFrom uint64
	// as far as it knows, it is one of a majority that has a leader
	serving    bool
	leading    bool          // as far as it knows
	epoch      int           // of the leader that it follows
	following  int           // that leader
	giveUpAt   time.Duration // when it gives up; 0 while all is well
	wallOffset time.Duration // by how much its wall clock is wrong
}

// A follower that hears nothing of its leader for syncLimit ticks gives up (Learner.readPacket; 5
// ticks in the configuration that is shipped), and so does one whose leader has heard nothing of it
// and therefore closes the connection. A leader looks once in a tick whether it has heard of a
// majority within syncLimit ticks (Leader.lead), and so goes on for up to one tick longer.
const (
	followerTimeoutTicks = 5
	leaderTimeoutTicks   = 6
)

// PartitionServer stops all messages that other servers send to a server (deaf), that it sends to
// them (mute), or both, until [Cluster.HealServer]. Nobody notices for some ticks. Until then the
// server goes on answering what it can answer alone; what its clients say does not count for their
// sessions, unless it leads.
func (c *Cluster) PartitionServer(server int, deaf, mute bool) {
	s := &c.servers[server]
	s.inboundCut, s.outboundCut = s.inboundCut || deaf, s.outboundCut || mute
	c.refreshConnectivity()
}

// Partitioned tells whether messages between a server and the others are stopped, whether they know
// it or not.
func (c *Cluster) Partitioned(server int) bool {
	return c.servers[server].inboundCut || c.servers[server].outboundCut
}

// CutServerOff cuts a server off from the others, which notice at once. It cannot serve unless it
// is alone.
func (c *Cluster) CutServerOff(server int) {
	if c.Standalone() {
		return
	}
	s := &c.servers[server]
	s.inboundCut, s.outboundCut = true, true
	c.elect(server)
}

// HealServer connects a server with the others again. If nobody has noticed that it was cut off,
// all goes on as before.
func (c *Cluster) HealServer(server int) {
	s := &c.servers[server]
	s.inboundCut, s.outboundCut = false, false
	if s.serving && s.epoch != c.epoch {
		s.stop() // There is a new leader.
		c.dropClientsOf([]int{server})
	}
	for i := range c.servers {
		c.rejoin(i) // If the leader is back, others may have waited for it.
	}
	c.refreshConnectivity()
}

// reachesLeader tells whether what a server says reaches the leader that it follows.
func (c *Cluster) reachesLeader(server int) bool {
	s := &c.servers[server]
	if c.leader == noLeader || !s.serving || s.epoch != c.epoch {
		return false
	}
	return server == c.leader || !s.outboundCut && !c.servers[c.leader].inboundCut &&
		!c.LinkPartitioned(server, c.leader)
}

// hearsLeader tells whether what the leader says reaches a server that follows it.
func (c *Cluster) hearsLeader(server int) bool {
	s := &c.servers[server]
	if c.leader == noLeader || !s.serving || s.epoch != c.epoch {
		return false
	}
	return server == c.leader || !s.inboundCut && !c.servers[c.leader].outboundCut &&
		!c.LinkPartitioned(c.leader, server)
}

// leaderConnected tells whether a server and the leader hear of each other.
func (c *Cluster) leaderConnected(server int) bool {
	return c.reachesLeader(server) && c.hearsLeader(server)
}

// refreshConnectivity takes note of which servers are in touch with their leader now, when the others will
// give up, and whose clients the leader hears of.
func (c *Cluster) refreshConnectivity() {
	heard := 0
	for i := range c.servers {
		s := &c.servers[i]
		switch {
		case !s.serving:
		case c.leaderConnected(i):
			s.acknowledged = s.logged
			c.sendDelayedReplies(i)
			if s.role == voter {
				heard++
			}
			if i != c.leader {
				s.giveUpAt = 0
			}
		case s.giveUpAt == 0:
			s.giveUpAt = c.now + followerTimeoutTicks*c.config.TickTime
		}
	}
	if c.leader != noLeader {
		switch leader := &c.servers[c.leader]; {
		case heard > c.Voters()/2:
			leader.giveUpAt = 0
		case leader.giveUpAt == 0:
			leader.giveUpAt = c.now + leaderTimeoutTicks*c.config.TickTime
		}
	}
	for _, s := range c.sessions {
		switch l := s.link; {
		case l == nil:
		case !c.leaderConnected(l.server):
			c.markUnreachable(s)
		case s.unreachable && !l.pingsBlocked():
			c.attach(s, l)
		}
	}
	c.commitAcknowledged()
}

// PartitionNoticed tells whether time alone will let a server find out that it has been cut off
// from its leader, or from a majority.
func (c *Cluster) PartitionNoticed() bool {
	return slices.ContainsFunc(c.servers, func(s server) bool { return s.giveUpAt > 0 })
}

// expirePeerTimeouts lets servers find out that they have been cut off for too long.
func (c *Cluster) expirePeerTimeouts() {
	var found []int
	for i := range c.servers {
		if s := &c.servers[i]; s.giveUpAt > 0 && s.giveUpAt <= c.now {
			found = append(found, i)
		}
	}
	if found != nil {
		c.elect(found...)
		c.refreshConnectivity()
	}
}
