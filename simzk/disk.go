package simzk

import (
	"slices"
	"time"
)

// A disk holds a server's log.
type disk struct {
	diskStalled  bool
	durable      int           // number of logged proposals when the disk stalled
	waitingSince time.Duration // when the leader sent the first of those that wait for the disk
	waits        bool          // there is one
}

// StallDisk makes a server's disk carry out no more writes, until [Cluster.ResumeDisk]. The server
// goes on to answer what it can without its log. A follower acknowledges no proposals, and its
// leader gives it up after five ticks. A leader proposes, but commits only what a majority of the
// voters has logged without it. A server that has lost its leader waits for its disk before it
// takes part in an election: its SyncRequestProcessor must end, and it must store the epoch
// (QuorumPeer.setAcceptedEpoch). If its process ends meanwhile, what it has not logged is lost. The
// cluster must have lag.
func (c *Cluster) StallDisk(server int) {
	s := &c.servers[server]
	if s.diskStalled {
		return
	}
	s.disk = disk{diskStalled: true, durable: s.logged}
	for _, l := range c.links {
		c.delayPings(l)
	}
	c.waitForDisks()
}

// ResumeDisk makes a server log what has waited for its disk.
func (c *Cluster) ResumeDisk(server int) {
	s := &c.servers[server]
	if !s.diskStalled {
		return
	}
	s.disk = disk{}
	c.rejoin(server)
	c.refreshConnectivity()
}

// DiskStalled reports whether a server's disk carries out no writes.
func (c *Cluster) DiskStalled(server int) bool { return c.servers[server].diskStalled }

// AwaitsDisk reports whether a disk stalls, and a proposal is not committed that may wait for it.
func (c *Cluster) AwaitsDisk() bool { return c.committed < len(c.proposals) && c.anyStalled() }

func (c *Cluster) anyStalled() bool {
	return slices.ContainsFunc(c.servers, func(s server) bool { return s.diskStalled })
}

// waitForDisks notes which followers keep the leader waiting for their disks.
func (c *Cluster) waitForDisks() {
	for i := range c.servers {
		s := &c.servers[i]
		if s.diskStalled && !s.waits && s.acknowledged < len(c.proposals) && c.follows(i) &&
			s.role == voter { // An observer acknowledges nothing.
			s.waits, s.waitingSince = true, c.now
			if s.giveUpAt == 0 {
				s.giveUpAt = c.diskGivenUpAt(s)
			}
		}
	}
}

// diskGivenUpAt returns when the leader gives up a follower that acknowledges no proposals
// (LearnerHandler.SyncLimitCheck), or 0 if it does not.
func (c *Cluster) diskGivenUpAt(s *server) time.Duration {
	if !s.waits {
		return 0
	}
	return s.waitingSince + followerTimeoutTicks*c.config.TickTime
}

// loseUnlogged ends the process of a server whose disk stalls: what waits for the disk is lost.
func (r *replica) loseUnlogged() {
	if r.diskStalled {
		r.logged, r.waits = min(r.logged, r.durable), false
	}
}

// acknowledge tells the leader what the server has logged.
func (r *replica) acknowledge() {
	if !r.diskStalled {
		r.acknowledged = r.logged
	}
}

// delayPings notes that the answers to a client's pings wait behind the reply to its write, which
// waits for a disk: a server handles the requests of a session in order (CommitProcessor). The
// pings still keep the session alive.
func (c *Cluster) delayPings(l *Link) {
	if !l.replyDelayed || l.behindWrite || l.crashed.Load() || !c.anyStalled() {
		return
	}
	l.stopPings()
	l.behindWrite = true
}

// answerPings ends the effect of delayPings.
func (c *Cluster) answerPings(l *Link) {
	if l.behindWrite {
		l.behindWrite = false
		l.resumePings()
	}
}

func (d *disk) key(all int, now time.Duration) uint64 {
	key := uint64(all-d.durable)<<2 | uint64(btoi(d.diskStalled)<<1|btoi(d.waits))
	if d.waits {
		key = mix(key, uint64(now-d.waitingSince))
	}
	return key
}
