package simzk

import (
	"bytes"
	"slices"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A session is the ensemble's state of a client.
type session struct {
	id      int64
	owner   *Link // client of the session, connected or not
	link    *Link // connection of the session, or nil
	timeout time.Duration
	contacts
	// When the session expires unless the leader, or the only server that knows the session, hears
	// from the client; by the clock of that server.
	expires      time.Duration
	unreachable  bool // the leader hears nothing of the client
	reporter     int  // see [session.holder]
	local        bool // known to one server only; see [LocalSessions]
	home         int  // that server
	lostEndEpoch int  // epoch of the leader that proposed its end, which was lost; or 0
}

// PingInterval returns the interval of a client's pings: half of its read timeout, which is two
// thirds of the session timeout.
func PingInterval(sessionTimeout time.Duration) time.Duration { return sessionTimeout / 3 }

// LastPing returns the time of the last ping, up to upTo, of a client that began to ping at since.
// The beginning counts as a ping.
func LastPing(since, upTo, sessionTimeout time.Duration) time.Duration {
	every := PingInterval(sessionTimeout)
	if every == 0 {
		return since
	}
	return since + (upTo-since)/every*every
}

// timingOut reports whether nothing but time decides when the session expires.
func (s *session) timingOut() bool { return s.link == nil || !s.link.pings || s.unreachable }

// timeoutOf returns when the session expires if nothing but time decides that, or false. Without a
// leader, only local sessions expire. A server that is paused ends no session.
func (c *Cluster) timeoutOf(s *session) (at time.Duration, ok bool) {
	keeper := c.leader
	if s.local {
		keeper = s.home
	}
	switch {
	case keeper == noLeader || c.servers[keeper].paused:
		return 0, false
	case !s.timingOut():
		if at, ok = c.endsUnreported(s); !ok && s.silent && s.pingStart > c.now {
			at = c.clockOf(s).timeOf(s.expires)
			ok = at < s.pingStart
		}
		return at, ok
	}
	return c.clockOf(s).timeOf(s.expires), true
}

// clockOf returns the clock that times a session: the leader's, or that of the only server which
// knows it.
func (c *Cluster) clockOf(s *session) clock {
	if s.local {
		return c.servers[s.home].clock
	}
	return c.leaderClock()
}

// expiry returns when a session expires after the server that times it last heard from it, by the
// clock of that server. As in ZooKeeper's ExpiryQueue, that is the first multiple of the tick, plus
// a phase, strictly later than the timeout.
func (c *Cluster) expiry(s *session, contact time.Duration) time.Duration {
	return c.expiryBy(c.clockOf(s), s, contact)
}

// expiryBy is expiry for a server with another clock.
func (c *Cluster) expiryBy(clock clock, s *session, contact time.Duration) time.Duration {
	tick := c.config.TickTime
	end := clock.read(contact) + s.scaledTimeout()
	return c.expiryPhase + floor(end-c.expiryPhase, tick) + tick
}

// scaledTimeout returns the session's timeout by the clock that times it, which is shorter if the
// client's clock is slow.
func (s *session) scaledTimeout() time.Duration {
	return s.timeout * time.Duration(s.owner.clockRate()) / 100
}

// serveConnect opens a session for a link, or resumes the requested one.
func (c *Cluster) serveConnect(l *Link, r *Exchange) {
	if handshake := r.connect; handshake != nil && !c.admitHandshake(l, r, handshake) {
		return
	}
	if r.LastZxid > c.zxidOf(l.server) {
		c.closeConnection(l) // The client has seen a later zxid than this server.
		return
	}
	i, found := c.findSessionAt(l.server, r.Session)
	if c.deposed(l.server) && !c.decidesAlone(l.server, r) {
		c.resumeAtDeposed(l, r)
		return
	}
	switch {
	case r.Session == 0:
		l.session = c.openSession(l, r.Timeout)
		r.opened = !l.session.local
	case found:
		l.session = c.sessions[i]
		l.session.timeout = r.Timeout
	}
	if l.session != nil {
		r.Session = l.session.id
		c.attach(l.session, l)
		if l.crashed.Load() {
			c.detach(l.session) // The server finds the connection closed.
		}
	} else {
		r.Session = 0 // The session has expired.
	}
	c.respond(l, r)
}

// resumeAtDeposed resumes a session at a deposed leader that does not know it is deposed. Such a
// leader asks no other server (LeaderZooKeeperServer.revalidateSession). It considers a session
// expired that it does not know, or whose end it has proposed itself
// (SessionTrackerImpl.touchSession). It then reports an expiry to the client although the session
// is alive under the new leader.
func (c *Cluster) resumeAtDeposed(l *Link, r *Exchange) {
	if l.session = c.sessionKnownAt(l.server, r.Session); l.session == nil {
		r.Session = 0
	} else {
		l.session.timeout = r.Timeout
		l.session.link, l.session.unreachable, l.session.reporter = l, true, 0
	}
	c.respond(l, r)
}

// sessionKnownAt returns the session if it is alive in the view of a deposed leader, or nil.
func (c *Cluster) sessionKnownAt(server int, id int64) (known *session) {
	s := &c.servers[server]
	for i := range c.proposals[:s.logged] {
		switch p := &c.proposals[i]; {
		case p.opened != nil && p.opened.id == id:
			known = p.opened
		case p.ended != nil && p.ended.id == id:
			return nil
		}
	}
	if known != nil && known.lostEndEpoch == s.epoch {
		return nil
	}
	return known
}

// admitHandshake performs the server's checks of a handshake before it looks up the session, and
// reports whether to continue. The order is that of ZooKeeperServer.processConnectRequest: the
// server rejects a client that has seen a later zxid; a request for a session closes the connection
// that carries it, even if the password is wrong.
func (c *Cluster) admitHandshake(l *Link, r *Exchange, handshake *wire.ConnectRequest) bool {
	if handshake.LastZxidSeen > c.zxidOf(l.server) || !c.Serving(l.server) {
		c.closeConnection(l)
		return false
	}
	timeout := time.Duration(handshake.TimeoutMillis) * time.Millisecond
	r.Timeout = min(max(timeout, c.config.MinSessionTimeout), c.config.MaxSessionTimeout)
	r.Session = handshake.SessionID
	if r.Session == 0 {
		return true
	}
	if i, found := c.findSession(r.Session); found {
		if holder := c.sessions[i].link; holder != nil && holder != l && holder.server == l.server {
			c.closeConnection(holder)
		}
	}
	if !bytes.Equal(handshake.Password, password(r.Session)) {
		r.Session = noSession
	}
	return true
}

// noSession is an id that no session has, as its server id is 0.
const noSession = 1

// openSession opens a session, by a transaction of its own unless it is local.
func (c *Cluster) openSession(l *Link, timeout time.Duration) *session {
	c.lastSession++
	s := c.sessionArena.Next(sessionArenaSize)
	s.id, s.owner, s.timeout = c.sessionID(l.server), l, timeout
	i, _ := c.findSession(s.id)
	c.sessions, c.opened = slices.Insert(c.sessions, i, s), append(c.opened, s)
	if c.HasLocalSessions() {
		s.local, s.home = true, l.server
		c.recordSession(&proposal{process: l.process, opened: s, zxid: c.zxidOf(l.server)})
		return s
	}
	c.zxid++
	c.propose(proposal{process: l.process, opened: s})
	return s
}

// sessionID returns the id of the next session that a server opens: its highest byte is the
// server's id.
func (c *Cluster) sessionID(server int) int64 {
	return int64(c.servers[server].id)<<56 | (c.config.FirstSession+c.lastSession)&(1<<56-1)
}

// serveClose ends the session. A client that watches its own ephemeral nodes gets the events of
// their deletion before the reply; only then are its watches removed.
func (c *Cluster) serveClose(l *Link, r *Exchange) {
	if _, lives := c.findSession(l.session.id); lives {
		c.endSession(l.session, history.SessionClosed)
	}
	c.respond(l, r)
}

// endSession deletes the session's ephemeral nodes and the session, in one transaction. The end of
// a local session is no transaction.
func (c *Cluster) endSession(s *session, how history.Kind) {
	if s.local {
		c.endLocalSession(s, how)
		return
	}
	c.zxid++
	w := &tree.Write{Op: wire.OpCloseSession, Zxid: c.zxid, Session: s.id}
	c.tree.Apply(w)
	i, _ := c.findSession(s.id)
	c.sessions = slices.Delete(c.sessions, i, i+1)
	c.propose(proposal{process: s.owner.process, write: w, ended: s, endKind: how})
}

// expire ends a session whose timeout is over.
func (c *Cluster) expire(s *session) { c.endByServer(s, history.SessionExpired) }

// endByServer ends a session without a request of its client. The server closes the session's
// connection without a message once it has applied the end.
func (c *Cluster) endByServer(s *session, how history.Kind) {
	c.endSession(s, how)
	if c.config.Lag && !s.local {
		return
	}
	if l := s.link; l != nil {
		l.session = nil
		c.closeConnection(l)
	}
	for _, l := range c.links {
		if l.session == s { // The client has since moved to another connection.
			l.session = nil
		}
	}
	s.owner.sessionEnded(s)
}

// Expire expires the session with an id now, and reports whether it existed.
func (c *Cluster) Expire(id int64) bool {
	i, found := c.findSession(id)
	if found {
		c.expire(c.sessions[i])
	}
	return found
}

// CanCloseSession reports whether [Cluster.CloseSession] applies to the client: the session that it
// believes it has is alive, and there is a leader to end it.
func (l *Link) CanCloseSession() bool {
	c := l.cluster
	return l.HasSession() && c.leader != noLeader && !c.servers[c.leader].paused
}

// CloseSession ends the client's session as another client does that resumes the session, with its
// id and password, and closes it. The client loses its connection, and learns at its next handshake
// that its session has expired.
func (c *Cluster) CloseSession(l *Link) {
	i, _ := c.findSession(l.end.KnownSession())
	c.endByServer(c.sessions[i], history.SessionClosed)
}

func (c *Cluster) sessionLives(id int64) bool {
	_, found := c.findSession(id)
	return found
}

func (c *Cluster) findSession(id int64) (int, bool) {
	return slices.BinarySearchFunc(c.sessions, id, func(s *session, id int64) int {
		switch {
		case s.id < id:
			return -1
		case s.id > id:
			return 1
		}
		return 0
	})
}

// A SessionInfo describes a session.
type SessionInfo struct {
	ID      int64
	Timeout time.Duration
	// When the session expires unless the server hears from the client, in the time of
	// [Cluster.Now].
	Expires   time.Duration
	Ephemeral []string // the paths of its ephemeral nodes
	Server    int      // server of its connection, or -1
	Home      int      // the only server that knows it if it is local (see [LocalSessions]), or -1
	Process   int      // of its client; 0 if the client is not a process of the run
}

// SessionList returns the live sessions, by id.
func (c *Cluster) SessionList() []SessionInfo {
	list := make([]SessionInfo, len(c.sessions))
	for i, s := range c.sessions {
		list[i] = SessionInfo{
			ID: s.id, Timeout: s.timeout, Expires: c.clockOf(s).timeOf(s.expires),
			Ephemeral: c.tree.Ephemerals(s.id), Server: -1, Home: -1,
			Process: s.owner.Process(),
		}
		if s.link != nil {
			list[i].Server = s.link.server
		}
		if s.local {
			list[i].Home = s.home
		}
	}
	return list
}
