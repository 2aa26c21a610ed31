package simzk

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// peersReachable tells whether the server runs and can talk with the others, both ways.
func (s *server) peersReachable() bool { return s.up && !s.inboundCut && !s.outboundCut }

// canConnect tells whether two servers can connect to each other: both are linked, and their link is
// severed in neither direction.
func (c *Cluster) canConnect(a, b int) bool {
	return c.servers[a].peersReachable() && c.servers[b].peersReachable() && !c.LinkPartitioned(a, b) &&
		!c.LinkPartitioned(b, a)
}

// elect finds a new leader, unless the present one still has a majority of the voters behind it, as
// far as it knows, now that some servers serve no longer. The clients of servers that follow
// another leader from now on, or none, lose their connections, because such a server starts anew.
// An old leader that cannot be told goes on for a while, and so does a server that follows it and
// hears of nothing else.
func (c *Cluster) elect(stopped ...int) {
	for _, i := range stopped {
		c.servers[i].stop()
	}
	followed := c.leaderHasQuorum()
	for i := range c.servers {
		s := &c.servers[i]
		switch {
		case !s.leading || followed && i == c.leader:
		case !c.believesQuorum(i):
			s.stop()
			stopped = append(stopped, i)
		case s.giveUpAt == 0:
			s.giveUpAt = c.now + (leaderTimeoutTicks-followerTimeoutTicks)*c.config.TickTime
		}
	}
	stopped = c.stopFollowers(stopped)
	if !followed {
		c.leader = noLeader
	}
	c.dropClientsOf(stopped)
	if followed {
		c.rejoinLooking()
	} else if best := c.candidate(); best != noLeader {
		c.lead(best)
	}
}

// leaderHasQuorum tells whether there is a leader that has a majority of the voters behind it.
func (c *Cluster) leaderHasQuorum() bool {
	follows := func(s *server) bool { return s.serving && s.epoch == c.epoch }
	return c.leader != noLeader && c.servers[c.leader].serving && c.countVoters(follows) > c.Voters()/2
}

// believesQuorum tells whether a server that leads takes a majority for being behind it still: of a voter
// that it does not hear it cannot know that it has gone, for as long as the leader's patience
// lasts.
func (c *Cluster) believesQuorum(leader int) bool {
	l, behind := &c.servers[leader], 0
	for i := range c.servers {
		if s := &c.servers[i]; s.role == voter && (s.serving && s.epoch == l.epoch ||
			l.inboundCut ||
			c.LinkPartitioned(i, leader)) {
			behind++
		}
	}
	return behind > c.Voters()/2
}

// stopFollowers lets all servers stop that follow one which leads no more, and hear of that. It returns
// those that had stopped before with them.
func (c *Cluster) stopFollowers(stopped []int) []int {
	for i := range c.servers {
		s := &c.servers[i]
		if !s.serving || s.leading || s.inboundCut || c.LinkPartitioned(s.following, i) {
			continue
		}
		if l := &c.servers[s.following]; !l.leading || l.epoch != s.epoch {
			s.stop()
			stopped = append(stopped, i)
		}
	}
	return stopped
}

// countVoters returns how many of the voters are as asked.
func (c *Cluster) countVoters(are func(*server) bool) int {
	voters := 0
	for i := range c.servers {
		if s := &c.servers[i]; s.role == voter && are(s) {
			voters++
		}
	}
	return voters
}

// rejoin lets a server that has been started, or connected with the others again, follow the leader
// if there is one, or else take part in an election.
func (c *Cluster) rejoin(server int) {
	switch s := &c.servers[server]; {
	case !s.peersReachable() || s.serving:
	case c.leader == noLeader || !c.servers[c.leader].peersReachable():
		c.elect()
	case c.canConnect(server, c.leader):
		c.follow(server)
		if last := len(c.proposals) - 1; last >= 0 {
			c.record(history.Event{
				At: c.now, Kind: history.Logged, Server: c.serverNumber(server),
				Zxid: c.proposals[last].zxid,
			})
		}
	}
}

// rejoinLooking lets every server that looks for a leader, and can connect to the present one, follow it.
func (c *Cluster) rejoinLooking() {
	for i := range c.servers {
		if c.looking(i) && c.canConnect(i, c.leader) {
			c.rejoin(i)
		}
	}
}

// looking tells whether a server looking for a leader.
func (c *Cluster) looking(server int) bool {
	return c.servers[server].peersReachable() && !c.servers[server].serving
}

// stop lets a server serve no longer. Its clients have to lose their connections then.
func (w *peerState) stop() { w.serving, w.leading, w.giveUpAt = false, false, 0 }

func (c *Cluster) dropClientsOf(servers []int) {
	if len(servers) > 0 {
		c.dropClients(func(l *Link) bool { return slices.Contains(servers, l.server) })
	}
}

// follow lets a server follow the leader. It takes over what the leader has before it serves.
func (c *Cluster) follow(server int) {
	s := &c.servers[server]
	s.serving, s.leading, s.giveUpAt = true, false, 0
	s.dataLost, s.epoch, s.following = false, c.epoch, c.leader
	c.catchUp(server)
}

// candidate returns who is going to lead, or noLeader: of the voters that can, the one that has
// logged most, and of several the one with the highest id (FastLeaderElection).
func (c *Cluster) candidate() int {
	best := noLeader
	for i := range c.servers {
		if c.servers[i].role == voter && c.electable(i) && (best == noLeader || c.voteLess(best, i)) {
			best = i
		}
	}
	return best
}

// electable tells whether a server can lead: of the voters that look for a leader, a majority can
// connect to it and has logged no more than it has (a leader gives up where a follower comes that
// has logged more: Leader.waitForEpochAck). So it has all that is committed, whatever those have
// logged that cannot connect.
func (c *Cluster) electable(candidate int) bool {
	behind := 0
	for i := range c.servers {
		if c.servers[i].role == voter && c.looking(i) && c.canConnect(candidate, i) &&
			!c.logLess(candidate, i) {
			behind++
		}
	}
	return c.looking(candidate) && behind > c.Voters()/2
}

// lead makes a server the leader of all that can connect to it: a new epoch begins, and with it the
// time of every session (the constructor of SessionTrackerImpl). What the leader has logged is
// committed by that, what it has not is lost.
func (c *Cluster) lead(leader int) {
	c.leader = leader
	c.epoch++
	if c.config.Lag && c.epoch > 1 {
		c.record(history.Event{
			At: c.now, Kind: history.Leading, Server: c.serverNumber(c.leader),
			Zxid: c.nextEpoch(),
		})
	}
	if !hasData(c.servers[c.leader]) {
		c.wipeAll()
	}
	c.recoverLog()
	for i := range c.servers {
		if c.looking(i) && c.canConnect(i, leader) {
			c.follow(i)
		}
	}
	c.servers[leader].leading = true
	if !c.Standalone() {
		c.zxid = c.nextEpoch()
		for i := range c.servers {
			if s := &c.servers[i]; s.epoch == c.epoch {
				s.zxid = c.zxid
			}
		}
		c.writeConfig()
	}
	for _, s := range c.sessions {
		c.restartTimer(s)
	}
}

// nextEpoch returns the number from which on the next leader counts transactions.
func (c *Cluster) nextEpoch() int64 { return (c.zxid>>32 + 1) << 32 }

// voteLess tells whether the second of two candidates has the better claim to lead.
func (c *Cluster) voteLess(first, second int) bool {
	return c.logLess(first, second) || !c.logLess(second, first) &&
		c.servers[first].id < c.servers[second].id
}

// logLess tells whether the second of two servers has logged more than the first.
func (c *Cluster) logLess(first, second int) bool {
	a, b := &c.servers[first], &c.servers[second]
	if c.mutation == electsShortestLog {
		a, b = b, a
	}
	if a.dataLost != b.dataLost {
		return a.dataLost
	}
	return a.logged < b.logged
}

// recoverLog makes what the new leader has logged all that there is, and commits it.
func (c *Cluster) recoverLog() {
	if !c.config.Lag {
		return
	}
	kept := c.servers[c.leader].logged
	c.catchUp(c.leader)
	for i := len(c.proposals) - 1; i >= kept; i-- {
		c.undoSession(&c.proposals[i])
	}
	lost := len(c.proposals) > kept
	c.proposals = c.proposals[:kept]
	// without effect, unless commits are made without a majority
	c.committed = min(c.committed, kept)
	for i := range c.servers {
		s := &c.servers[i]
		s.logged, s.acknowledged = min(s.logged, kept), min(s.acknowledged, kept)
	}
	if lost {
		c.tree = c.rebuild()
	}
	for c.committed < kept {
		c.commitNext()
	}
}

// undoSession takes back what a proposal that is lost has done to the leader's list of sessions.
func (c *Cluster) undoSession(p *proposal) {
	switch {
	case p.opened != nil:
		if i, found := c.findSession(p.opened.id); found {
			c.sessions = slices.Delete(c.sessions, i, i+1)
		}
	case p.ended != nil:
		i, _ := c.findSession(p.ended.id)
		c.sessions = slices.Insert(c.sessions, i, p.ended)
		p.ended.lostEndEpoch = c.epoch - 1
	}
}
