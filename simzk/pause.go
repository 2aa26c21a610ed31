package simzk

import "time"

// PauseServer stops a server's process, as SIGSTOP does, until [Cluster.ResumeServer]. The server
// keeps its state, its role and its connections, and handles nothing. Clients can connect to it,
// and get no answer. From the other servers it is partitioned, as by [Cluster.PartitionServer]. A
// paused leader ends no session. The cluster must have lag.
func (c *Cluster) PauseServer(server int) {
	s := &c.servers[server]
	if s.paused || !s.up {
		return
	}
	for _, l := range c.links {
		if l.server != server || !l.end.Connected() {
			continue
		}
		if l.pings && l.session != nil && l.session.link == l {
			c.markUnreachable(l.session)
		}
		l.stopPings()
		l.held = true
	}
	s.paused, s.pausedAt, s.noticesAt = true, c.now, 0
	c.PartitionServer(server, true, true)
}

// ResumeServer continues a server's process. A leader first ends the sessions of which it has not
// heard in time. Then the server handles what its clients have sent, before it hears of the other
// servers: its answers are those of its old state, and a deposed leader believes that it leads.
// [Cluster.HealServer] ends that, which happens by itself after a while.
func (c *Cluster) ResumeServer(server int) {
	s := &c.servers[server]
	if !s.paused {
		return
	}
	s.paused = false
	c.endAtDeposed(server)
	c.expireSessions()
	for _, l := range c.links {
		if l.server != server || !l.held {
			continue
		}
		l.held = false
		c.resumeKeepalive(l)
		l.resumePings()
	}
	switch {
	case !s.serving || s.giveUpAt == 0: // There is nothing to notice.
		c.HealServer(server)
	case c.deposed(server):
		s.noticesAt = c.now + c.config.TickTime/2
	default:
		s.noticesAt = c.now + noticeDelay
	}
}

// A leader that resumes finds that it has lost its majority within half a tick (Leader.lead). A
// follower reads at once what its leader has sent, or that the leader has closed the connection,
// but by another thread than its clients' requests.
const noticeDelay = 10 * time.Millisecond

// endAtDeposed notes which sessions a deposed leader that resumes takes for expired. They live on,
// because its proposals reach nobody. See [Cluster.resumeAtDeposed].
func (c *Cluster) endAtDeposed(server int) {
	if !c.deposed(server) {
		return
	}
	by := &c.servers[server]
	for _, s := range c.opened {
		at := by.clock.timeOf(c.expiryBy(by.clock, s, by.pausedAt))
		if !s.local && at <= c.now {
			s.lostEndEpoch = by.epoch
		}
	}
}

// givenUp reports whether the leader has given a follower up while that was paused.
func (c *Cluster) givenUp(follower *peerState) bool {
	return !follower.leading && 0 < follower.giveUpAt && follower.giveUpAt <= c.now
}

// ServerPaused reports whether a server's process is paused.
func (c *Cluster) ServerPaused(server int) bool { return c.servers[server].paused }

// Resumed reports whether a server has continued after a pause and has not heard of the others yet.
func (c *Cluster) Resumed(server int) bool { return c.servers[server].noticesAt > 0 }

// Held reports whether a connection of the process leads to a server that is paused, or that does
// not answer pings before a write for which it needs a disk.
func (l *Link) Held() (held bool) {
	l.host().each(func(l *Link) { held = held || (l.held || l.behindWrite) && !l.crashed.Load() })
	return held
}

// notices returns when a server that is cut off notices that, and false if it is paused.
func (p *peerState) notices() (at time.Duration, ok bool) {
	switch {
	case p.noticesAt > 0:
		return p.noticesAt, true
	case p.paused:
		return 0, false
	}
	return p.giveUpAt, p.giveUpAt > 0
}

// pauseKey returns 64 bits over the pause of a server, or over what follows it. How long ago it
// began counts for longer than any session lasts by a clock that drifts.
func (c *Cluster) pauseKey(p *peerState) uint64 {
	ago := min(c.now-p.pausedAt, 100*(c.config.MaxSessionTimeout+c.config.TickTime))
	return mix(uint64(max(0, p.noticesAt-c.now)), uint64(ago)<<1|uint64(btoi(p.paused)))
}
