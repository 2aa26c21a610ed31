package simzk

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// peersReachable reports whether the server runs and exchanges messages with the others in both
// directions.
func (s *server) peersReachable() bool { return s.up && !s.inboundCut && !s.outboundCut }

// canConnect reports whether two servers can connect to each other: both exchange messages with the
// ensemble, and neither direction of their link is partitioned.
func (c *Cluster) canConnect(a, b int) bool {
	return c.servers[a].peersReachable() && c.servers[b].peersReachable() &&
		!c.LinkPartitioned(a, b) &&
		!c.LinkPartitioned(b, a)
}

// elect stops the given servers and finds a new leader, unless a majority of the voters still
// follows the present one. Servers whose leader changes or vanishes restart, so their clients lose
// their connections. An old leader that is cut off continues for some ticks, and so does a follower
// that hears only that leader.
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

// leaderHasQuorum reports whether there is a leader with a majority of the voters.
func (c *Cluster) leaderHasQuorum() bool {
	follows := func(s *server) bool {
		return s.serving && s.epoch == c.epoch && !c.givenUp(&s.peerState)
	}
	return c.leader != noLeader && c.servers[c.leader].serving &&
		c.countVoters(follows) > c.Voters()/2
}

// believesQuorum reports whether a leading server still counts a majority of voters. It counts
// every voter that it cannot hear, as it notices the loss of one only after leaderTimeoutTicks.
func (c *Cluster) believesQuorum(leader int) bool {
	l, supporters := &c.servers[leader], 0
	for i := range c.servers {
		if s := &c.servers[i]; s.role == voter && (s.serving && s.epoch == l.epoch ||
			l.inboundCut ||
			c.LinkPartitioned(i, leader)) {
			supporters++
		}
	}
	return supporters > c.Voters()/2
}

// stopFollowers stops every follower whose leader has stopped leading, if the follower hears of it.
// It returns the stopped servers, appended to the given ones.
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

// countVoters returns the number of voters that match.
func (c *Cluster) countVoters(are func(*server) bool) int {
	voters := 0
	for i := range c.servers {
		if s := &c.servers[i]; s.role == voter && are(s) {
			voters++
		}
	}
	return voters
}

// rejoin lets a server that has been started or reconnected follow the leader, or, if there is
// none, take part in an election.
func (c *Cluster) rejoin(server int) {
	switch {
	case !c.looking(server):
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

// rejoinLooking makes every looking server that can connect to the leader follow it.
func (c *Cluster) rejoinLooking() {
	for i := range c.servers {
		if c.looking(i) && c.canConnect(i, c.leader) {
			c.rejoin(i)
		}
	}
}

// looking reports whether a server can take part in an election, as in ZooKeeper's state LOOKING.
func (c *Cluster) looking(server int) bool {
	s := &c.servers[server]
	return s.peersReachable() && !s.serving && !s.diskStalled
}

// stop ends service. The caller must disconnect the server's clients.
func (p *peerState) stop() {
	p.serving, p.leading, p.giveUpAt, p.noticesAt = false, false, 0, 0
}

func (c *Cluster) dropClientsOf(servers []int) {
	if len(servers) > 0 {
		c.dropClients(func(l *Link) bool { return slices.Contains(servers, l.server) })
		c.forgetReports(servers)
		c.forgetLocalSessions(servers)
	}
}

// follow makes a server a follower of the leader. The server first copies the leader's log.
func (c *Cluster) follow(server int) {
	s := &c.servers[server]
	s.serving, s.leading, s.giveUpAt, s.waiting = true, false, 0, waiting{}
	s.dataLost, s.epoch, s.following = false, c.epoch, c.leader
	c.catchUp(server)
}

// candidate returns the winner of an election, or noLeader: among the electable voters, the one
// with the longest log, and then the highest id (FastLeaderElection).
func (c *Cluster) candidate() int {
	best := noLeader
	for i := range c.servers {
		if c.servers[i].role == voter && c.electable(i) &&
			(best == noLeader || c.voteLess(best, i)) {
			best = i
		}
	}
	return best
}

// electable reports whether a server can win an election: a majority of the voters is looking, can
// connect to it, and has no longer log than it has. A leader gives up if a follower with a longer
// log connects (Leader.waitForEpochAck). The winner therefore has every committed transaction,
// whatever voters that cannot connect have logged.
func (c *Cluster) electable(candidate int) bool {
	supporters := 0
	for i := range c.servers {
		if c.servers[i].role == voter && c.looking(i) && c.canConnect(candidate, i) &&
			!c.logLess(candidate, i) {
			supporters++
		}
	}
	return c.looking(candidate) && supporters > c.Voters()/2
}

// lead makes a server the leader of all servers that can connect to it. A new epoch begins, and the
// expiry of every session restarts (constructor of SessionTrackerImpl). Every proposal in the
// leader's log is committed; the others are lost.
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
		if !s.local {
			c.restartTimer(s)
			s.reporter = 0
		}
	}
}

// nextEpoch returns the zxid at which the next epoch starts.
func (c *Cluster) nextEpoch() int64 { return (c.zxid>>32 + 1) << 32 }

// voteLess reports whether the first of two candidates ranks below the second: by log, then by id.
func (c *Cluster) voteLess(first, second int) bool {
	return c.logLess(first, second) || !c.logLess(second, first) &&
		c.servers[first].id < c.servers[second].id
}

// logLess reports whether the first of two servers has the shorter log.
func (c *Cluster) logLess(first, second int) bool {
	a, b := &c.servers[first], &c.servers[second]
	if a.dataLost != b.dataLost {
		return a.dataLost
	}
	return a.logged < b.logged
}

// recoverLog truncates the proposals to the new leader's log and commits them all.
func (c *Cluster) recoverLog() {
	if !c.config.Lag {
		return
	}
	logLen := c.servers[c.leader].logged
	c.catchUp(c.leader)
	for i := len(c.proposals) - 1; i >= logLen; i-- {
		c.undoSession(&c.proposals[i])
	}
	lost := len(c.proposals) > logLen
	c.proposals = c.proposals[:logLen]
	for i := range c.servers {
		s := &c.servers[i]
		s.logged, s.acknowledged = min(s.logged, logLen), min(s.acknowledged, logLen)
	}
	if lost {
		c.tree = c.rebuild()
	}
	for c.committed < logLen {
		c.commitNext()
	}
	if c.committed > logLen {
		c.forgetCommitted()
	}
}

// forgetCommitted makes all servers forget the committed transactions that are in no log any more,
// because servers were wiped.
func (c *Cluster) forgetCommitted() {
	c.committed = len(c.proposals)
	for i := range c.servers {
		if s := &c.servers[i]; s.applied > c.committed {
			s.tree, s.applied = c.rebuild(), c.committed
		}
	}
}

// undoSession reverts the effect of a lost proposal on the leader's list of sessions.
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
