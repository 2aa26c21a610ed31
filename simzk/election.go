package simzk

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// linked tells whether the server runs and can talk with the others, both ways.
func (s *server) linked() bool { return s.up && !s.inboundCut && !s.outboundCut }

// meet tells whether two servers can connect to each other: both are linked, and their link is
// severed in neither direction.
func (c *Cluster) meet(a, b int) bool {
	return c.servers[a].linked() && c.servers[b].linked() && !c.LinkPartitioned(a, b) &&
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
	followed := c.followed()
	for i := range c.servers {
		s := &c.servers[i]
		switch {
		case !s.leads || followed && i == c.leader:
		case !c.deceived(i):
			s.stop()
			stopped = append(stopped, i)
		case s.notices == 0:
			s.notices = c.now + (leaderPatience-followerPatience)*c.config.TickTime
		}
	}
	stopped = c.orphan(stopped)
	if !followed {
		c.leader = noLeader
	}
	c.dropClientsOf(stopped)
	if followed {
		c.gather()
	} else if best := c.candidate(); best != noLeader {
		c.lead(best)
	}
}

// followed tells whether there is a leader that has a majority of the voters behind it.
func (c *Cluster) followed() bool {
	follows := func(s *server) bool { return s.serving && s.epoch == c.epoch }
	return c.leader != noLeader && c.servers[c.leader].serving && c.count(follows) > c.Voters()/2
}

// deceived tells whether a server that leads takes a majority for being behind it still: of a voter
// that it does not hear it cannot know that it has gone, for as long as the leader's patience
// lasts.
func (c *Cluster) deceived(leader int) bool {
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

// orphan lets all servers stop that follow one which leads no more, and hear of that. It returns
// those that had stopped before with them.
func (c *Cluster) orphan(stopped []int) []int {
	for i := range c.servers {
		s := &c.servers[i]
		if !s.serving || s.leads || s.inboundCut || c.LinkPartitioned(s.under, i) {
			continue
		}
		if l := &c.servers[s.under]; !l.leads || l.epoch != s.epoch {
			s.stop()
			stopped = append(stopped, i)
		}
	}
	return stopped
}

// count returns how many of the voters are as asked.
func (c *Cluster) count(are func(*server) bool) int {
	voters := 0
	for i := range c.servers {
		if s := &c.servers[i]; s.role == voter && are(s) {
			voters++
		}
	}
	return voters
}

// enter lets a server that has been started, or connected with the others again, follow the leader
// if there is one, or else take part in an election.
func (c *Cluster) enter(server int) {
	switch s := &c.servers[server]; {
	case !s.linked() || s.serving:
	case c.leader == noLeader || !c.servers[c.leader].linked():
		c.elect()
	case c.meet(server, c.leader):
		c.join(server)
		if last := len(c.proposals) - 1; last >= 0 {
			c.record(history.Event{
				At: c.now, Kind: history.Logged, Server: c.serverNumber(server),
				Zxid: c.proposals[last].zxid,
			})
		}
	}
}

// gather lets every server that looks for a leader, and can connect to the present one, follow it.
func (c *Cluster) gather() {
	for i := range c.servers {
		if c.observes(i) && c.meet(i, c.leader) {
			c.enter(i)
		}
	}
}

// observes tells whether a server observes for a leader.
func (c *Cluster) observes(server int) bool {
	return c.servers[server].linked() && !c.servers[server].serving
}

// stop lets a server serve no longer. Its clients have to lose their connections then.
func (w *peerState) stop() { w.serving, w.leads, w.notices = false, false, 0 }

func (c *Cluster) dropClientsOf(servers []int) {
	if len(servers) > 0 {
		c.dropClients(func(l *Link) bool { return slices.Contains(servers, l.server) })
	}
}

// join lets a server follow the leader. It takes over what the leader has before it serves.
func (c *Cluster) join(server int) {
	s := &c.servers[server]
	s.serving, s.leads, s.notices = true, false, 0
	s.blank, s.epoch, s.under = false, c.epoch, c.leader
	c.catchUp(server)
}

// candidate returns who is going to lead, or noLeader: of the voters that can, the one that has
// logged most, and of several the one with the highest id (FastLeaderElection).
func (c *Cluster) candidate() int {
	best := noLeader
	for i := range c.servers {
		if c.servers[i].role == voter && c.backed(i) && (best == noLeader || c.precedes(best, i)) {
			best = i
		}
	}
	return best
}

// backed tells whether a server can lead: of the voters that look for a leader, a majority can
// connect to it and has logged no more than it has (a leader gives up where a follower comes that
// has logged more: Leader.waitForEpochAck). So it has all that is committed, whatever those have
// logged that cannot connect.
func (c *Cluster) backed(candidate int) bool {
	behind := 0
	for i := range c.servers {
		if c.servers[i].role == voter && c.observes(i) && c.meet(candidate, i) &&
			!c.ahead(candidate, i) {
			behind++
		}
	}
	return c.observes(candidate) && behind > c.Voters()/2
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
		c.reset()
	}
	c.recover()
	for i := range c.servers {
		if c.observes(i) && c.meet(i, leader) {
			c.join(i)
		}
	}
	c.servers[leader].leads = true
	if !c.Standalone() {
		c.zxid = c.nextEpoch()
		for i := range c.servers {
			if s := &c.servers[i]; s.epoch == c.epoch {
				s.zxid = c.zxid
			}
		}
		c.configure()
	}
	for _, s := range c.sessions {
		c.retime(s)
	}
}

// nextEpoch returns the number from which on the next leader counts transactions.
func (c *Cluster) nextEpoch() int64 { return (c.zxid>>32 + 1) << 32 }

// precedes tells whether the second of two candidates has the better claim to lead.
func (c *Cluster) precedes(first, second int) bool {
	return c.ahead(first, second) || !c.ahead(second, first) &&
		c.servers[first].id < c.servers[second].id
}

// ahead tells whether the second of two servers has logged more than the first.
func (c *Cluster) ahead(first, second int) bool {
	a, b := &c.servers[first], &c.servers[second]
	if c.mutation == electsBehind {
		a, b = b, a
	}
	if a.blank != b.blank {
		return a.blank
	}
	return a.logged < b.logged
}

// recover makes what the new leader has logged all that there is, and commits it.
func (c *Cluster) recover() {
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
		p.ended.undone = c.epoch - 1
	}
}
