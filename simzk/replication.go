package simzk

import (
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A proposal is a transaction that a leader has proposed to the other servers. It is committed once
// a majority has logged it, and each server then applies it in the order of the proposals.
type proposal struct {
	zxid       int64
	age        uint64
	process    int32
	write      *tree.Write  // nil if it changes no znode
	opened     *session     // session that it opens, or nil
	upgrades   bool         // the session was local before
	ended      *session     // session that it ends, or nil
	endKind    history.Kind // how the session ended
	cachedHash uint64       // of the write; 0 if not computed yet
}

// A log is the leader's sequence of proposals.
type log struct {
	prepared  []func(*tree.Tree) // applied before the first proposal
	proposals []proposal
	committed int    // number of committed proposals
	hash      uint64 // of all proposals
}

// A replica is the state of one server of an ensemble with lag.
type replica struct {
	tree         *tree.Tree
	zxid         int64 // of the last applied transaction
	logged       int   // number of logged proposals
	acknowledged int   // number of logged proposals that the leader knows of
	applied      int   // number of applied proposals
	answers      []delayedReply
	disk
}

// A delayedReply waits until its server has applied a number of transactions.
type delayedReply struct {
	link    *Link
	request *Exchange
	applied int
}

// lagging reports whether the server applies transactions later than the leader.
func (c *Cluster) lagging(server int) bool { return c.config.Lag && server != c.leader }

// treeOf returns the znodes at the link's server.
func (c *Cluster) treeOf(l *Link) *tree.Tree {
	if c.config.Lag {
		return c.servers[l.server].tree
	}
	return c.tree
}

// zxidOf returns the last zxid that a server has applied.
func (c *Cluster) zxidOf(server int) int64 {
	if c.config.Lag {
		return c.servers[server].zxid
	}
	return c.zxid
}

// serverNumber returns a server's number in histories: 0 in an ensemble without lag.
func (c *Cluster) serverNumber(server int) int32 {
	if !c.config.Lag {
		return 0
	}
	return int32(server + 1)
}

// proposeWrite proposes a write that the leader has validated.
func (c *Cluster) proposeWrite(w *tree.Write, process int32) {
	if !c.config.Lag {
		c.publish(c.tree.Changes(), process, c.zxid, everywhere)
		return
	}
	copied := *w
	c.propose(proposal{process: process, write: &copied})
}

// propose replicates a transaction: at once, or in an ensemble with lag once a majority has logged
// it.
func (c *Cluster) propose(p proposal) {
	p.zxid = c.zxid
	if !c.config.Lag {
		if p.write != nil {
			c.publish(c.tree.Changes(), p.process, p.zxid, everywhere)
		}
		c.recordSession(&p)
		return
	}
	p.age = c.NextAge()
	c.proposals = append(c.proposals, p)
	c.hash = mix(c.hash, uint64(p.zxid))
	if p.write != nil {
		c.hash = mix(c.hash, xxhash.Sum64String(p.write.Path)+uint64(p.write.Op))
	}
	leader := &c.servers[c.leader]
	leader.logged = len(c.proposals)
	leader.acknowledge()
	c.waitForDisks()
	c.commitAcknowledged()
}

// recordSession records the beginning or the end of a session by a transaction.
func (c *Cluster) recordSession(p *proposal) {
	e := history.Event{At: c.now, Process: p.process, Zxid: p.zxid}
	switch {
	case p.upgrades:
		return
	case p.opened != nil:
		e.Kind, e.Session, e.Name = history.SessionOpened, p.opened.id, c.timeout
	case p.ended != nil:
		e.Kind, e.Session = p.endKind, p.ended.id
	default:
		return
	}
	c.record(e)
}

// Loggable returns the age of the oldest uncommitted proposal that a server can log, or false if
// there is none or the leader's messages do not reach the server.
func (c *Cluster) Loggable(server int) (age uint64, ok bool) {
	next := c.loggable(server)
	if !c.lagging(server) || !c.hearsLeader(server) || next == len(c.proposals) ||
		c.servers[server].diskStalled {
		return 0, false
	}
	return c.proposals[next].age, true
}

// loggable returns the index of the proposal that a server would log next. Logging a committed
// proposal is not a step of its own.
func (c *Cluster) loggable(server int) int { return max(c.servers[server].logged, c.committed) }

// Log makes a server log its oldest unlogged and uncommitted proposal, with all before it, and
// acknowledge it to the leader, which commits a proposal once a majority has logged it. It panics
// if there is none; see [Cluster.Loggable].
func (c *Cluster) Log(server int) {
	s := &c.servers[server]
	next := c.loggable(server)
	p := &c.proposals[next]
	s.logged = next + 1
	c.record(history.Event{
		At: c.now, Kind: history.Logged, Server: c.serverNumber(server),
		Zxid: p.zxid,
	})
	if c.reachesLeader(server) {
		s.acknowledge()
		c.commitAcknowledged()
	}
}

// commitAcknowledged commits every proposal that a majority has acknowledged. A server that has
// died since still counts: the leader keeps acknowledgements (Proposal.ackSet).
func (c *Cluster) commitAcknowledged() {
	if !c.config.Lag || c.leader == noLeader {
		return
	}
	for c.committed < len(c.proposals) {
		acknowledged := func(s *server) bool {
			return s.epoch == c.epoch && s.acknowledged > c.committed
		}
		if c.countVoters(acknowledged) <= c.Voters()/2 {
			return
		}
		c.commitNext()
	}
}

// commitNext commits the oldest uncommitted proposal. The leader applies it at once.
func (c *Cluster) commitNext() {
	p := &c.proposals[c.committed]
	c.committed++
	leader := &c.servers[c.leader]
	leader.applied, leader.zxid = c.committed, p.zxid
	if p.write != nil {
		leader.tree.Apply(p.write)
		c.publish(leader.tree.Changes(), p.process, p.zxid, c.leader)
	}
	c.recordSession(p)
	if p.ended != nil {
		p.ended.owner.sessionEnded(p.ended)
	}
	c.afterApply(c.leader, p)
}

// afterApply sends the replies and closes the connections that waited for a server to apply a
// transaction.
func (c *Cluster) afterApply(server int, p *proposal) {
	c.sendDelayedReplies(server)
	if p.ended != nil {
		c.closeSessionConnections(server, p.ended.id)
	}
}

// Converged reports whether every proposal is committed.
func (c *Cluster) Converged() bool { return c.committed == len(c.proposals) }

// Applicable returns the age of the oldest committed transaction that a server has not applied, or
// false if there is none or the leader's messages do not reach the server.
func (c *Cluster) Applicable(server int) (age uint64, ok bool) {
	s := &c.servers[server]
	if !c.lagging(server) || !c.hearsLeader(server) || s.applied >= c.committed {
		return 0, false
	}
	return c.proposals[s.applied].age, true
}

// Unapplied returns the number of committed transactions that a server has not applied.
func (c *Cluster) Unapplied(server int) int {
	if !c.lagging(server) {
		return 0
	}
	return max(0, c.committed-c.servers[server].applied)
}

// Apply makes a server apply its oldest unapplied transaction: its watches fire, ended sessions
// lose their connections, and delayed replies are sent. It panics if there is none; see
// [Cluster.Applicable].
func (c *Cluster) Apply(server int) {
	s := &c.servers[server]
	p := &c.proposals[s.applied]
	s.applied++
	s.zxid = p.zxid
	if s.logged < s.applied {
		s.logged = s.applied
		if c.reachesLeader(server) {
			s.acknowledge()
		}
	}
	c.record(history.Event{
		At: c.now, Kind: history.Applied, Server: c.serverNumber(server),
		Zxid: p.zxid,
	})
	if p.write != nil {
		s.tree.Apply(p.write)
		c.fireChanges(s.tree.Changes(), server, p.zxid)
	}
	c.afterApply(server, p)
}

// sendDelayedReplies sends the delayed replies for which the server has applied enough, if the
// leader's messages reach it.
func (c *Cluster) sendDelayedReplies(server int) {
	s := &c.servers[server]
	for c.hearsLeader(server) && len(s.answers) > 0 && s.answers[0].applied <= s.applied {
		d := s.answers[0]
		s.answers = slices.Delete(s.answers, 0, 1)
		d.link.replyDelayed = false
		c.answerPings(d.link)
		d.request.zxid = s.zxid
		c.postReply(d.link, d.request)
	}
}

// closeSessionConnections closes the connections of an ended session at a server.
func (c *Cluster) closeSessionConnections(server int, session int64) {
	for _, l := range c.links {
		if l.server == server && l.session != nil && l.session.id == session {
			l.session = nil
			c.closeConnection(l)
		}
	}
}

// respond replies to a request once the link's server has applied the transaction that the reply
// reports.
func (c *Cluster) respond(l *Link, r *Exchange) {
	s := &c.servers[l.server]
	if !c.config.Lag || !c.mustAwaitApply(l, r) || s.applied == len(c.proposals) &&
		c.hearsLeader(l.server) {
		r.zxid = c.zxidOf(l.server)
		c.postReply(l, r)
		return
	}
	l.replyDelayed = true
	c.delayPings(l)
	s.answers = append(s.answers, delayedReply{link: l, request: r, applied: len(c.proposals)})
}

// mustAwaitApply reports whether the reply to a request must wait until the server has applied
// every present proposal: the reply to a write, to the opening or closing of a session, and to a
// sync. A leader answers a sync at once (ProposalRequestProcessor), even a deposed leader that does
// not know it.
func (c *Cluster) mustAwaitApply(l *Link, r *Exchange) bool {
	switch r.Op {
	case wire.OpSync:
		return !c.servers[l.server].leading
	case wire.OpCreateSession:
		return r.opened
	}
	return operation.Of(r.Op).Write ||
		r.Op == wire.OpCloseSession && (l.session == nil || !l.session.local)
}

// writePending reports whether a write of a session is proposed and uncommitted. At the leader, all
// later requests of the session wait for it, even if it came through another server
// (CommitProcessor tracks pending writes by session).
func (c *Cluster) writePending(session int64) bool {
	for i := c.committed; i < len(c.proposals); i++ {
		if w := c.proposals[i].write; w != nil && w.Session == session {
			return true
		}
	}
	return false
}

// canHandle reports whether a server can handle a request now: only the leader can decide on a
// write, on a session, and for a follower on a sync.
func (c *Cluster) canHandle(server int, session *session, r *Exchange) bool {
	switch {
	case !c.config.Lag:
		return true
	case server == c.leader && session != nil && c.writePending(session.id):
		return false
	case r.Op == wire.OpSync && c.servers[server].leading:
		return true
	case c.HasLocalSessions() && c.decidesAlone(server, r):
		return true
	case r.Op == wire.OpCloseSession && session != nil && session.local:
		return true
	case r.Op == wire.OpCreateSession && c.deposed(server):
		return r.Session != 0 // It decides alone; see [Cluster.resumeAtDeposed].
	case r.Op == wire.OpCreateSession && r.Session != 0:
		// The follower asks the leader whether the session lives (Learner.validateSession).
		return c.leaderConnected(server)
	case operation.Of(r.Op).Write, r.Op == wire.OpSync, r.Op == wire.OpCloseSession,
		r.Op == wire.OpCreateSession:
		return c.reachesLeader(server)
	}
	return true
}

// deposed reports whether a server believes that it leads but is not the leader.
func (c *Cluster) deposed(server int) bool {
	return c.servers[server].leading &&
		server != c.leader
}

// catchUp copies the leader's log and state to a server, before it serves.
func (c *Cluster) catchUp(server int) {
	if !c.config.Lag {
		return
	}
	s := &c.servers[server]
	for ; s.applied < c.committed; s.applied++ {
		if w := c.proposals[s.applied].write; w != nil {
			s.tree.Apply(w)
		}
	}
	s.zxid = max(s.zxid, c.servers[c.leader].zxid)
	s.logged, s.acknowledged = len(c.proposals), len(c.proposals)
}

// replicateNow commits every proposal and applies it everywhere, as if that had happened before the
// run.
func (c *Cluster) replicateNow() {
	if !c.config.Lag {
		return
	}
	for c.committed < len(c.proposals) {
		c.commitNext()
	}
	for i := range c.servers {
		c.catchUp(i)
		c.sendDelayedReplies(i)
	}
}

// preparedTree returns the znodes before all proposals.
func (c *Cluster) preparedTree() *tree.Tree {
	t := tree.New(c.rules())
	for _, change := range c.prepared {
		change(t)
	}
	return t
}

// rebuild returns the znodes after all proposals.
func (c *Cluster) rebuild() *tree.Tree {
	t := c.preparedTree()
	for i := range c.proposals {
		if w := c.proposals[i].write; w != nil {
			t.Apply(w)
		}
	}
	return t
}

// dropDelayedReply drops the delayed reply of a closed connection.
func (c *Cluster) dropDelayedReply(l *Link) {
	if !l.replyDelayed {
		return
	}
	l.replyDelayed, l.behindWrite = false, false
	s := &c.servers[l.server]
	s.answers = slices.DeleteFunc(s.answers, func(d delayedReply) bool { return d.link == l })
}

// ensembleKey folds into a key the state in which servers differ.
func (c *Cluster) ensembleKey(key uint64) uint64 {
	key = mix(mix(key, c.hash), uint64(c.committed)<<16|uint64(c.leader&0xff)<<8|uint64(c.epoch))
	for i := range c.servers {
		s := &c.servers[i]
		key = mix(key, uint64(s.logged)<<40|uint64(s.acknowledged)<<20|uint64(s.applied))
		key = mix(key, uint64(s.epoch)<<8|
			uint64(btoi(s.up)<<4|btoi(s.inboundCut)<<3|btoi(s.outboundCut)<<2|
				btoi(s.serving)<<1|btoi(s.leading)))
		if s.giveUpAt > 0 {
			key = mix(key, uint64(s.giveUpAt-c.now))
		}
		if s.paused || s.noticesAt > 0 {
			key = mix(key, c.pauseKey(&s.peerState))
		}
		if s.inboundCutFrom != 0 {
			key = mix(key, s.inboundCutFrom)
		}
		if s.diskStalled {
			key = mix(key, s.disk.key(len(c.proposals), c.now))
		}
		if c.pingWaits(&s.waiting) {
			key = mix(key, 1<<63)
		}
	}
	for _, s := range c.sessions {
		if s.link != nil {
			key = mix(mix(key, uint64(c.now-s.contactAt)), uint64(c.now-s.relayedAt))
		}
		if contacts := c.contactsKey(s); contacts != 0 {
			key = mix(key, contacts)
		}
	}
	return key
}
