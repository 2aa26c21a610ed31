package simzk

import (
	"slices"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A transaction is what the ensemble has agreed on. The leader has applied it at once; the others do when they are told
// to, each in the same order.
type transaction struct {
	zxid    int64
	age     uint64
	process int32
	write   *tree.Write // nil of one that changes no znode
	ended   int64       // the session that it ends, if any
}

// A replica is what a server of an ensemble with lag knows by itself.
type replica struct {
	tree    *tree.Tree
	zxid    int64 // of the last transaction that it has applied
	applied int   // how many it has applied
	answers []delayed
	parted  bool          // cut off from the leader, without knowing it yet
	notices time.Duration // when it will know; only while parted
}

// A delayed answer waits until its server has applied so many transactions.
type delayed struct {
	link    *Link
	request *request
	applied int
}

// syncLimit is how many ticks a server that hears nothing of its leader goes on for (ZooKeeper's syncLimit, 5 in the
// configuration that is shipped).
const syncLimit = 5

// lagging tells whether the server applies transactions later than the leader.
func (c *Cluster) lagging(server int) bool { return c.config.Lag && server != c.leader }

// treeOf returns the znodes as the link's server knows them.
func (c *Cluster) treeOf(l *Link) *tree.Tree {
	if c.lagging(l.server) {
		return c.servers[l.server].tree
	}
	return c.tree
}

// zxidOf returns the last transaction that a server has applied.
func (c *Cluster) zxidOf(server int) int64 {
	if c.lagging(server) {
		return c.servers[server].zxid
	}
	return c.zxid
}

// serverNumber returns a server's number as a history has it: none where there is but one.
func (c *Cluster) serverNumber(server int) int32 {
	if !c.config.Lag {
		return 0
	}
	return int32(server + 1)
}

// agree notes what the leader has done, for the other servers to do.
func (c *Cluster) agree(t transaction) {
	if !c.config.Lag {
		return
	}
	t.zxid, t.age = c.zxid, c.NextAge()
	c.agreed = append(c.agreed, t)
	leader := &c.servers[c.leader]
	leader.applied, leader.zxid = len(c.agreed), c.zxid
}

// agreeOn is agree for a write.
func (c *Cluster) agreeOn(w *tree.Write, process int32) {
	if c.config.Lag {
		kept := *w
		c.agree(transaction{process: process, write: &kept})
	}
}

// Applicable returns the age of the oldest transaction that a server has not applied, or false if there is none or the
// server cannot hear of it.
func (c *Cluster) Applicable(server int) (age uint64, ok bool) {
	s := &c.servers[server]
	if !c.lagging(server) || !c.Serving(server) || s.parted || s.applied == len(c.agreed) {
		return 0, false
	}
	return c.agreed[s.applied].age, true
}

// Apply lets a server apply the oldest transaction that it has not applied: watches fire at it, sessions that have ended
// lose their connections, and answers that have waited for it are sent. It panics if there is none; see
// [Cluster.Applicable].
func (c *Cluster) Apply(server int) {
	s := &c.servers[server]
	t := &c.agreed[s.applied]
	s.applied++
	s.zxid = t.zxid
	c.record(history.Event{At: c.now, Kind: history.Applied, Server: c.serverNumber(server), Zxid: t.zxid})
	if t.write != nil {
		s.tree.Apply(t.write)
		c.fireChanges(s.tree.Changes(), server, t.zxid)
	}
	c.answerDelayed(server)
	if t.ended != 0 {
		c.endedAt(server, t.ended)
	}
}

// answerDelayed sends the answers that have waited for the server to come so far.
func (c *Cluster) answerDelayed(server int) {
	s := &c.servers[server]
	for len(s.answers) > 0 && s.answers[0].applied <= s.applied {
		d := s.answers[0]
		s.answers = slices.Delete(s.answers, 0, 1)
		d.link.delayed = false
		d.request.zxid = s.zxid
		if d.request.Op == wire.OpCloseSession {
			d.link.session = nil
			c.logGone(d.link, c.watches.drop(d.link))
		}
		c.served(d.link, d.request)
	}
}

// endedAt closes the connections at a server that still carry a session that has expired.
func (c *Cluster) endedAt(server int, session int64) {
	for _, l := range c.links {
		if l.server == server && l.session != nil && l.session.id == session {
			l.session = nil
			c.hangUp(l)
		}
	}
}

// respond answers a request, as soon as the link's server has applied what the answer tells of.
func (c *Cluster) respond(l *Link, r *request) {
	s := &c.servers[l.server]
	if !c.lagging(l.server) || !waits(r) || s.applied == len(c.agreed) {
		r.zxid = c.zxidOf(l.server)
		c.served(l, r)
		return
	}
	l.delayed = true
	s.answers = append(s.answers, delayed{link: l, request: r, applied: len(c.agreed)})
}

// waits tells whether the answer to a request has to wait until the server has applied all that the leader has agreed on
// by now: that of a write, of a sync, and of a session's beginning and end.
func waits(r *request) bool {
	return writes(r.Op) || r.Op == wire.OpSync || r.Op == wire.OpCloseSession || r.Op == wire.OpCreateSession && r.opened
}

// asksLeader tells whether a server has to ask the leader before it can answer a request.
func asksLeader(r *request) bool {
	return writes(r.Op) || r.Op == wire.OpSync || r.Op == wire.OpCloseSession || r.Op == wire.OpCreateSession
}

// PartServer cuts a server off from the others. A leader is replaced at once. A follower does not notice for a while, and
// goes on answering from what it has; what its clients say does not count for their sessions.
func (c *Cluster) PartServer(server int) {
	if server == c.leader {
		c.CutServer(server)
		return
	}
	s := &c.servers[server]
	s.parted, s.notices = true, c.now+syncLimit*c.config.TickTime
	for _, session := range c.sessions {
		if l := session.link; l != nil && l.server == server {
			session.detach(c.now, c.config.TickTime)
			session.link, session.unheard = l, true
		}
	}
}

// Parted tells whether a server is cut off from the others, whether it knows it or not.
func (c *Cluster) Parted(server int) bool { return c.servers[server].parted || c.servers[server].apart }

// Rejoin connects a server with the others again.
func (c *Cluster) Rejoin(server int) {
	s := &c.servers[server]
	if s.parted {
		s.parted = false
		for _, session := range c.sessions {
			if l := session.link; l != nil && l.server == server {
				session.attach(l, c.now, c.config.TickTime)
			}
		}
	}
	if s.apart {
		c.HealServer(server)
	}
}

// noticePartitions lets servers find out that they have not heard of their leader for too long.
func (c *Cluster) noticePartitions() {
	for i := range c.servers {
		if s := &c.servers[i]; s.parted && s.notices <= c.now {
			s.parted = false
			c.CutServer(i)
		}
	}
}

// catchUp brings every server that the leader can reach to where the leader is, as happens before a server serves.
func (c *Cluster) catchUp() {
	if !c.config.Lag {
		return
	}
	for i := range c.servers {
		c.catchUpServer(i)
	}
	c.tree = c.servers[c.leader].tree
}

// catchUpServer brings a server that the leader can reach to where the leader is. It has no clients by then.
func (c *Cluster) catchUpServer(server int) {
	s := &c.servers[server]
	if !c.config.Lag || !s.reachable() || s.tree == c.tree {
		return
	}
	for ; s.applied < len(c.agreed); s.applied++ {
		if t := &c.agreed[s.applied]; t.write != nil {
			s.tree.Apply(t.write)
		}
	}
	s.zxid = c.zxid
}

// forgetDelayed drops the answer that a connection that is no more has waited for.
func (c *Cluster) forgetDelayed(l *Link) {
	if !l.delayed {
		return
	}
	l.delayed = false
	s := &c.servers[l.server]
	s.answers = slices.DeleteFunc(s.answers, func(d delayed) bool { return d.link == l })
}
