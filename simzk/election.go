package simzk

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// linked tells whether the server runs and can talk with the others, both ways.
func (s *server) linked() bool { return s.up && !s.deaf && !s.mute }

// elect finds a new leader, unless the present one still has a majority of the voters behind it, as far as it knows, now that
// some servers serve no longer. When there is a new leader, or none, all clients lose their connections, because every
// server that follows starts anew. An old leader that cannot be told goes on for a while.
func (c *Cluster) elect(stopped ...int) {
	for _, i := range stopped {
		c.servers[i].stop()
	}
	follows := func(s *server) bool { return s.serving && s.epoch == c.epoch }
	if c.leader != noLeader && c.servers[c.leader].serving && c.count(follows) > c.Voters()/2 {
		c.dropClientsOf(stopped)
		return
	}
	for i := range c.servers {
		if s := &c.servers[i]; s.serving && (s.linked() || i == c.leader && !s.deaf) {
			s.stop()
			stopped = append(stopped, i)
		}
	}
	c.leader = noLeader
	c.dropClientsOf(stopped)
	if c.count((*server).linked) > c.Voters()/2 {
		c.lead()
	}
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

// enter lets a server that has been started, or connected with the others again, follow the leader if there is one, or
// else take part in an election.
func (c *Cluster) enter(server int) {
	switch s := &c.servers[server]; {
	case !s.linked() || s.serving && s.epoch == c.epoch:
	case c.leader == noLeader || !c.servers[c.leader].linked():
		c.elect()
	default:
		c.join(server)
		if last := len(c.proposals) - 1; last >= 0 {
			c.record(history.Event{At: c.now, Kind: history.Logged, Server: c.serverNumber(server), Zxid: c.proposals[last].zxid})
		}
	}
}

// stop lets a server serve no longer. Its clients have to lose their connections then.
func (w *way) stop() { w.serving, w.leads, w.notices = false, false, 0 }

func (c *Cluster) dropClientsOf(servers []int) {
	if len(servers) > 0 {
		c.dropClients(func(l *Link) bool { return slices.Contains(servers, l.server) })
	}
}

// join lets a server follow the leader. It takes over what the leader has before it serves.
func (c *Cluster) join(server int) {
	s := &c.servers[server]
	s.serving, s.leads, s.notices = true, false, 0
	s.blank, s.epoch = false, c.epoch
	c.catchUp(server)
}

// lead makes a server the leader, of those that can the one that has logged most, and of several the one with the highest
// id (FastLeaderElection): a new epoch begins, and with it the time of every session (the constructor of
// SessionTrackerImpl). What the leader has logged is committed by that, what it has not is lost.
func (c *Cluster) lead() {
	c.leader = noLeader
	for i := range c.servers {
		if s := &c.servers[i]; s.role == voter && s.linked() && (c.leader == noLeader || c.precedes(c.leader, i)) {
			c.leader = i
		}
	}
	c.epoch++
	if c.config.Lag && c.epoch > 1 {
		c.record(history.Event{At: c.now, Kind: history.Leading, Server: c.serverNumber(c.leader), Zxid: c.nextEpoch()})
	}
	if !hasData(c.servers[c.leader]) {
		c.reset()
	}
	c.recover()
	for i := range c.servers {
		if c.servers[i].linked() {
			c.join(i)
		}
	}
	c.servers[c.leader].leads = true
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
	a, b := &c.servers[first], &c.servers[second]
	switch {
	case a.blank != b.blank:
		return a.blank
	case a.logged != b.logged:
		return a.logged < b.logged
	}
	return a.id < b.id
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
	c.committed = min(c.committed, kept) // without effect, unless commits are made without a majority
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
