package simzk

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// LocalSessions says whether the servers of an ensemble open local sessions. Only the server that
// opens a local session knows it: the session takes no transaction and expires by the clock of that
// server, even without a leader, and it ends when the server stops serving. Elsewhere it cannot be
// resumed, and it cannot create ephemeral nodes (ZOOKEEPER-1147). A standalone server has no local
// sessions, as in ZooKeeper.
type LocalSessions uint8

const (
	// NoLocalSessions means that the ensemble knows every session.
	NoLocalSessions LocalSessions = iota
	// FixedLocalSessions means that sessions stay local (localSessionsEnabled).
	FixedLocalSessions
	// UpgradedLocalSessions means that the first request of a local session to create an ephemeral
	// node makes the session one that the ensemble knows (localSessionsUpgradingEnabled).
	UpgradedLocalSessions
)

// HasLocalSessions reports whether the servers open local sessions.
func (c *Cluster) HasLocalSessions() bool {
	return c.config.LocalSessions != NoLocalSessions && !c.Standalone()
}

// findSessionAt is findSession without the sessions that are local to other servers.
func (c *Cluster) findSessionAt(server int, id int64) (index int, found bool) {
	index, found = c.findSession(id)
	return index, found && (!c.sessions[index].local || c.sessions[index].home == server)
}

// decidesAlone reports whether a request is a handshake for a new local session, or for one that
// the server knows, which it answers without a leader.
func (c *Cluster) decidesAlone(server int, r *Exchange) bool {
	if r.Op != wire.OpCreateSession {
		return false
	}
	if r.Session == 0 || r.reopens {
		return c.HasLocalSessions()
	}
	i, found := c.findSessionAt(server, r.Session)
	return found && c.sessions[i].local
}

// endLocalSession ends a local session. It owns no nodes.
func (c *Cluster) endLocalSession(s *session, how history.Kind) {
	i, _ := c.findSession(s.id)
	c.sessions = slices.Delete(c.sessions, i, i+1)
	c.recordSession(&proposal{
		process: s.owner.process, ended: s, endKind: how, zxid: c.zxidOf(s.home),
	})
}

// forgetLocalSessions ends the local sessions of servers that have stopped serving. The caller must
// disconnect the clients.
func (c *Cluster) forgetLocalSessions(servers []int) {
	for i := 0; i < len(c.sessions); {
		s := c.sessions[i]
		if !s.local || !slices.Contains(servers, s.home) {
			i++
			continue
		}
		c.endLocalSession(s, history.SessionExpired)
		s.owner.sessionEnded(s)
	}
}

// mustUpgrade reports whether a request makes the server upgrade a local session. Like ZooKeeper
// (QuorumZooKeeperServer.checkUpgradeSession), it does not depend on whether the request succeeds,
// and it leaves out createContainer with the flag of an ephemeral node.
func (c *Cluster) mustUpgrade(r *wire.Request) bool {
	if c.config.LocalSessions != UpgradedLocalSessions {
		return false
	}
	switch r.Op {
	case wire.OpCreate, wire.OpCreate2:
		return wire.IsEphemeral(r.Flags)
	case wire.OpMulti:
		return slices.ContainsFunc(r.Ops, createsEphemeral)
	}
	return false
}

// createsEphemeral reports whether an operation of a multi creates an ephemeral node. There the
// flags alone determine the type of a create.
func createsEphemeral(r wire.Request) bool {
	switch r.Op {
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer:
		return wire.IsEphemeral(r.Flags)
	}
	return false
}

// upgrade makes the ensemble know a local session, by a transaction of its own.
func (c *Cluster) upgrade(s *session) {
	c.zxid++
	s.local = false
	c.restartTimer(s)
	c.propose(proposal{process: s.owner.process, opened: s, upgrades: true})
	if l := s.link; l != nil && !c.leaderConnected(l.server) {
		s.unreachable = true
		s.touch(c, c.now)
	}
}

// ephemeralsRefused returns the code with which a request to create ephemeral nodes fails, or OK. A
// follower does not pass on why it cannot upgrade the session. The leader, which does not know the
// session, then calls it expired.
func (c *Cluster) ephemeralsRefused(l *Link, r *wire.Request) wire.Code {
	switch {
	case !l.session.local:
		return wire.OK
	case r.Op == wire.OpCreate, r.Op == wire.OpCreate2,
		r.Op == wire.OpMulti && l.server == c.leader:
		return wire.EphemeralOnLocalSession
	}
	return wire.SessionExpired
}
