package simzk

import (
	"slices"
	"time"
)

// A peerState is a server's view of the others, and the partitions between them.
type peerState struct {
	// Messages from, or to, all other servers are not delivered.
	inboundCut, outboundCut bool
	// Bit i is set if messages from server i are not delivered; see [Cluster.PartitionLink].
	inboundCutFrom uint64
	// As far as the server knows, it belongs to a majority with a leader.
	serving    bool
	leading    bool          // as far as the server knows
	epoch      int           // of its leader
	following  int           // index of its leader
	giveUpAt   time.Duration // when it stops serving; 0 while it is in contact
	paused     bool          // its process; see [Cluster.PauseServer]
	pausedAt   time.Duration // when the last pause began
	noticesAt  time.Duration // when it hears of the others after a pause; 0 if it does
	wallOffset time.Duration // error of its wall clock
	waiting                  // between it and its leader
}

// A follower gives up after syncLimit ticks without a message from its leader (Learner.readPacket;
// 5 ticks in the default configuration), or if the leader closes the connection because it has
// heard nothing for as long. A leader checks once per tick whether it has heard a majority within
// syncLimit ticks (Leader.lead), so it continues for up to one tick longer.
const (
	followerTimeoutTicks = 5
	leaderTimeoutTicks   = 6
)

// PartitionServer stops all messages from other servers to a server (inbound), all messages from it
// to them (outbound), or both, until [Cluster.HealServer]. Nobody notices for some ticks. Until
// then the server keeps answering what it can answer alone. Unless it leads, its clients' requests
// and pings do not extend their sessions. If the partition ends before it is noticed, what has
// waited is delivered, as by TCP: the leader's pings are answered at once, and the leader extends
// the sessions that the server has heard from.
func (c *Cluster) PartitionServer(server int, inbound, outbound bool) {
	s := &c.servers[server]
	s.inboundCut, s.outboundCut = s.inboundCut || inbound, s.outboundCut || outbound
	c.refreshConnectivity()
}

// Partitioned reports whether all messages to or from a server are stopped, noticed or not.
func (c *Cluster) Partitioned(server int) bool {
	return c.servers[server].inboundCut || c.servers[server].outboundCut
}

// CutServerOff cuts a server off from the others, which notice at once. It stops serving unless it
// is standalone. If the server is paused, that ends.
func (c *Cluster) CutServerOff(server int) {
	if c.Standalone() {
		return
	}
	s := &c.servers[server]
	s.inboundCut, s.outboundCut, s.paused = true, true, false
	c.elect(server)
}

// HealServer reconnects a server with the others. If no server has noticed the partition, what has
// waited is delivered.
func (c *Cluster) HealServer(server int) {
	s := &c.servers[server]
	c.ResumeServer(server)
	s.inboundCut, s.outboundCut, s.noticesAt = false, false, 0
	if s.serving && (s.epoch != c.epoch || c.givenUp(&s.peerState)) {
		s.stop() // There is a new leader, or the leader has closed its connection.
		c.dropClientsOf([]int{server})
	}
	for i := range c.servers {
		c.rejoin(i) // Others may have waited for the leader.
	}
	c.refreshConnectivity()
}

// follows reports whether a server follows the leader.
func (c *Cluster) follows(server int) bool {
	s := &c.servers[server]
	return c.leader != noLeader && server != c.leader && s.serving && s.epoch == c.epoch
}

// reachesLeader reports whether a server's messages reach the leader that it follows.
func (c *Cluster) reachesLeader(server int) bool {
	s := &c.servers[server]
	if c.leader == noLeader || !s.serving || s.epoch != c.epoch {
		return false
	}
	return server == c.leader || !s.outboundCut && !c.servers[c.leader].inboundCut &&
		!c.LinkPartitioned(server, c.leader)
}

// hearsLeader reports whether the leader's messages reach a server that follows it.
func (c *Cluster) hearsLeader(server int) bool {
	s := &c.servers[server]
	if c.leader == noLeader || !s.serving || s.epoch != c.epoch {
		return false
	}
	return server == c.leader || !s.inboundCut && !c.servers[c.leader].outboundCut &&
		!c.LinkPartitioned(c.leader, server)
}

// leaderConnected reports whether messages pass between a server and its leader in both directions.
func (c *Cluster) leaderConnected(server int) bool {
	return c.reachesLeader(server) && c.hearsLeader(server)
}

// refreshConnectivity updates the servers' state after a change of connectivity: which servers are
// connected to their leader, which pings and reports pass, when the others give up, and whose
// clients' sessions the leader extends.
func (c *Cluster) refreshConnectivity() {
	connected := 0
	for i := range c.servers {
		c.refreshReports(i)
		c.sendDelayedReplies(i)
		s := &c.servers[i]
		switch {
		case !s.serving:
		case c.leaderConnected(i):
			s.acknowledge()
			if s.role == voter {
				connected++
			}
			if i != c.leader {
				s.giveUpAt = c.diskGivenUpAt(s)
			}
		case s.giveUpAt == 0:
			s.giveUpAt = c.now + followerTimeoutTicks*c.config.TickTime
		}
	}
	if c.leader != noLeader {
		switch leader := &c.servers[c.leader]; {
		case connected > c.Voters()/2:
			leader.giveUpAt = 0
		case leader.giveUpAt == 0:
			leader.giveUpAt = c.now + leaderTimeoutTicks*c.config.TickTime
		}
	}
	for _, s := range c.sessions {
		switch l := s.link; {
		case l == nil || s.local:
		case !c.leaderConnected(l.server):
			s.unreachable = true
		case s.unreachable && !l.pingsBlocked():
			s.unreachable = false
		}
	}
	c.commitAcknowledged()
}

// WillNoticePartition reports whether time alone will make a server notice that it is cut off from
// its leader, or from a majority.
func (c *Cluster) WillNoticePartition() bool {
	return slices.ContainsFunc(c.servers, func(s server) bool {
		_, notices := s.notices()
		return notices
	})
}

// expirePeerTimeouts makes servers notice that they have been cut off for too long.
func (c *Cluster) expirePeerTimeouts() {
	var expired, resumed []int
	for i := range c.servers {
		s := &c.servers[i]
		if s.giveUpAt == 0 {
			continue
		}
		switch at, notices := s.notices(); {
		case !notices || at > c.now:
		case s.noticesAt > 0:
			resumed = append(resumed, i)
		default:
			expired = append(expired, i)
		}
	}
	if expired != nil {
		c.elect(expired...)
		c.refreshConnectivity()
	}
	for _, i := range resumed {
		c.HealServer(i)
	}
}
