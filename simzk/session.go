package simzk

import (
	"bytes"
	"slices"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A session is what the ensemble knows of a client.
type session struct {
	id        int64
	owner     *Link // whose session it is, connected or not
	link      *Link // the connection that carries the session, nil while there is none
	timeout   time.Duration
	pingStart time.Duration // since when the client's pings count; see lastHeard
	contactAt time.Duration // when its server last heard of the client, pings apart
	relayedAt time.Duration // what of that the leader is sure to have heard
	// when the session ends unless the leader hears of the client, by the leader's clock
	expires      time.Duration
	unreachable  bool // what the client says does not reach the leader
	lostEndEpoch int  // the epoch whose leader has proposed its end, which was lost; 0 if none has
}

// attach gives the session a connection.
func (c *Cluster) attach(s *session, l *Link) {
	s.link, s.pingStart, s.contactAt, s.relayedAt, s.unreachable = l, c.now, c.now, c.now, false
	c.restartTimer(s)
}

// restartTimer lets the session's time begin anew.
func (c *Cluster) restartTimer(s *session) { s.expires = c.expiry(s, c.now) }

// touchSession notes that the session's server has touchSession of the client. A request of a crashed client that
// is served late counts too.
func (c *Cluster) touchSession(s *session, l *Link) {
	if s.unreachable {
		return
	}
	if s.contactAt <= c.relayedUpTo(c.now) {
		s.relayedAt = s.contactAt
	}
	s.contactAt = c.now
	heard := c.now
	if c.lagging(l.server) {
		heard = c.relayTime(c.now)
	}
	s.expires = c.expiry(s, heard)
}

// detach takes the connection away.
func (c *Cluster) detach(s *session) {
	if s.link.pings && !s.unreachable {
		s.expires = c.expiry(s, c.lastContact(s))
	}
	s.link = nil
}

// markUnreachable notes that what the client says does not reach the leader any more, though it has its
// connection.
func (c *Cluster) markUnreachable(s *session) {
	if !s.unreachable && s.link.pings {
		s.expires = c.expiry(s, c.lastContact(s))
	}
	s.unreachable = true
}

// lastContact returns when the leader last heard of a client that is connected. A simulated client
// pings every third of the session timeout; the pings are not steps of their own, so the last one
// is computed here. A follower tells the leader of its clients when the leader pings it, every half
// tick (LearnerSessionTracker); what it has not told when it is cut off, the leader never hears.
func (c *Cluster) lastContact(s *session) time.Duration {
	server := s.link.server
	last := max(s.contactAt, s.lastPing(c.now))
	switch {
	case !c.lagging(server):
		return last
	case c.leaderConnected(server):
		return c.relayTime(last)
	}
	told := c.relayedUpTo(c.now)
	last = s.relayedAt
	if s.contactAt <= told {
		last = s.contactAt
	}
	return c.relayTime(max(last, s.lastPing(told)))
}

// lastPing returns when the client last pinged, up to a time, or 0 if it has not.
func (s *session) lastPing(upTo time.Duration) time.Duration {
	if !s.link.pings || upTo < s.pingStart {
		return 0
	}
	return lastPing(s.pingStart, upTo, s.timeout)
}

// relayedUpTo returns the latest time of which followers have told their leader all by now.
func (c *Cluster) relayedUpTo(now time.Duration) time.Duration {
	if !c.config.Lag {
		return now
	}
	half := c.config.TickTime / 2
	return now / half * half
}

// relayTime returns when the leader hears of what a follower has heard at a time.
func (c *Cluster) relayTime(at time.Duration) time.Duration {
	half := c.config.TickTime / 2
	return (at + half - 1) / half * half
}

// timingOut tells whether the session's end is only a matter of time.
func (s *session) timingOut() bool { return s.link == nil || !s.link.pings || s.unreachable }

// expiry returns when a session ends of which the leader last heard at a time, by the leader's
// clock. It rounds up to the next tick as ZooKeeper's ExpiryQueue does: a session ends at a
// multiple of the tick that is strictly later than its timeout. To a client whose clock is slow the
// timeout is shorter.
func (c *Cluster) expiry(s *session, heard time.Duration) time.Duration {
	tick := c.config.TickTime
	timeout := s.timeout * time.Duration(s.owner.clockRate()) / 100
	if c.mutation == expiresEarly {
		timeout = 0
	}
	end := c.leaderClock().read(heard) + timeout
	return (end/tick + 1) * tick
}

// serveConnect opens a session for a link, or gives it the one that it asks for.
func (c *Cluster) serveConnect(l *Link, r *request) {
	if ask := r.connect; ask != nil && !c.admitHandshake(l, r, ask) {
		return
	}
	if r.lastZxid > c.zxidOf(l.server) && c.mutation != acceptsStaleServer {
		c.closeConnection(l) // The client has seen more than this server.
		return
	}
	if c.deposed(l.server) {
		c.resumeAtDeposed(l, r)
		return
	}
	i, found := c.findSession(r.session)
	if !found {
		i, found = c.revive(r.session)
	}
	switch {
	case r.session == 0:
		l.session = c.openSession(l, r.timeout)
		r.opened = true
	case found:
		l.session = c.sessions[i]
		l.session.timeout = r.timeout
	}
	if l.session != nil {
		r.session = l.session.id
		c.attach(l.session, l)
		if l.crashed.Load() {
			c.detach(l.session) // The server finds the connection closed right after the handshake.
		}
	} else {
		r.session = 0 // The session has expired; the client learns it from a session id of 0.
	}
	c.respond(l, r)
}

// resumeAtDeposed gives a link its session at a leader that has been deposed and does not know it.
// That asks nobody (LeaderZooKeeperServer.revalidateSession), and it takes a session for expired
// that it does not know, or whose end it has proposed itself (SessionTrackerImpl.touchSession): its
// client is told so, while the session lives on under the new leader.
func (c *Cluster) resumeAtDeposed(l *Link, r *request) {
	if l.session = c.sessionKnownAt(l.server, r.session); l.session == nil {
		r.session = 0
	} else {
		l.session.timeout = r.timeout
		l.session.link, l.session.unreachable = l, true
	}
	c.respond(l, r)
}

// sessionKnownAt returns the session as a leader that has been deposed knows of it, or nil if it knows of
// none that lives.
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

// revive brings back a session that has ended, where sabotage asks for that.
func (c *Cluster) revive(id int64) (index int, found bool) {
	for _, s := range c.endedSessions {
		if s.id == id {
			index, _ = c.findSession(id)
			c.sessions = slices.Insert(c.sessions, index, s)
			return index, true
		}
	}
	return 0, false
}

// admitHandshake does what a server does with a handshake before it looks for the session, and reports
// whether it goes on. The order is that of ZooKeeperServer.processConnectRequest: a client that has
// seen more than the server is sent away; a client that asks for a session costs the connection
// that has it, even if its password is wrong.
func (c *Cluster) admitHandshake(l *Link, r *request, ask *wire.ConnectRequest) bool {
	if ask.LastZxidSeen > c.zxidOf(l.server) || !c.Serving(l.server) {
		c.closeConnection(l)
		return false
	}
	timeout := time.Duration(ask.TimeoutMillis) * time.Millisecond
	r.timeout = min(max(timeout, c.config.MinSessionTimeout), c.config.MaxSessionTimeout)
	r.session = ask.SessionID
	if r.session == 0 {
		return true
	}
	if i, found := c.findSession(r.session); found {
		if holder := c.sessions[i].link; holder != nil && holder != l && holder.server == l.server {
			c.closeConnection(holder)
		}
	}
	if !bytes.Equal(ask.Password, password(r.session)) {
		r.session = noSession
	}
	return true
}

// noSession is the id of no session, as the server id in it is 0.
const noSession = 1

// openSession opens a session, in a transaction of its own.
func (c *Cluster) openSession(l *Link, timeout time.Duration) *session {
	c.lastSession++
	c.zxid++
	s := c.sessionArena.next(sessionArenaSize)
	s.id, s.owner, s.timeout = c.sessionID(l.server), l, timeout
	i, _ := c.findSession(s.id)
	c.sessions, c.opened = slices.Insert(c.sessions, i, s), append(c.opened, s)
	c.propose(proposal{process: l.process, opened: s})
	return s
}

// sessionID returns the id of the next session that a server opens: the server's own id is the
// highest byte.
func (c *Cluster) sessionID(server int) int64 {
	return int64(c.servers[server].id)<<56 | (c.config.FirstSession+c.lastSession)&(1<<56-1)
}

// serveClose ends the session. The client hears of its own ephemeral nodes' deletion before the
// reply, if it watches them; only then are its watches gone.
func (c *Cluster) serveClose(l *Link, r *request) {
	if _, lives := c.findSession(l.session.id); lives {
		c.endSession(l.session, history.SessionClosed)
	}
	c.respond(l, r)
}

// endSession deletes the session's ephemeral nodes and forgets the session, in one transaction.
func (c *Cluster) endSession(s *session, how history.Kind) {
	c.zxid++
	w := &tree.Write{Op: wire.OpCloseSession, Zxid: c.zxid, Session: s.id}
	switch c.mutation {
	case leavesEphemerals:
		w.Session = noSession
	case revivesSessions:
		c.endedSessions = append(c.endedSessions, s)
	}
	c.tree.Apply(w)
	i, _ := c.findSession(s.id)
	c.sessions = slices.Delete(c.sessions, i, i+1)
	c.propose(proposal{process: s.owner.process, write: w, ended: s, endKind: how})
}

// expire ends a session whose time is over.
func (c *Cluster) expire(s *session) { c.endByServer(s, history.SessionExpired) }

// endByServer ends a session without a request of its client. The server closes the connection that
// carries it, without a word, as soon as it has applied the end.
func (c *Cluster) endByServer(s *session, how history.Kind) {
	c.endSession(s, how)
	if c.config.Lag {
		return
	}
	if l := s.link; l != nil {
		l.session = nil
		c.closeConnection(l)
	}
	for _, l := range c.links {
		if l.session == s { // A client that has moved on has left this connection behind.
			l.session = nil
		}
	}
	s.owner.sessionEnded(s)
}

// Expire ends a session as if its time were over, and reports whether there was one of that id.
func (c *Cluster) Expire(id int64) bool {
	i, found := c.findSession(id)
	if found {
		c.expire(c.sessions[i])
	}
	return found
}

// CanCloseSession reports whether [Cluster.CloseSession] can be done to the client: it believes in
// a session that lives, and there is a leader to end it.
func (l *Link) CanCloseSession() bool { return l.HasSession() && l.cluster.leader != noLeader }

// CloseSession ends the client's session as a connection of somebody else does that has taken the
// session over, with its id and password, and closes it. The client loses its connection, and is
// told that its session has expired when it asks for it again.
func (c *Cluster) CloseSession(l *Link) {
	i, _ := c.findSession(l.end.knownSession())
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

// A SessionInfo is what [Cluster.SessionList] tells of a session.
type SessionInfo struct {
	ID      int64
	Timeout time.Duration
	// when it ends unless the server hears of the client, as [Cluster.Now] has the time
	Expires   time.Duration
	Ephemeral []string // the paths of its ephemeral nodes
	Server    int      // to which the client is connected; -1 if to none
}

// SessionList tells of every session that lives, by id.
func (c *Cluster) SessionList() []SessionInfo {
	list := make([]SessionInfo, len(c.sessions))
	for i, s := range c.sessions {
		list[i] = SessionInfo{
			ID: s.id, Timeout: s.timeout, Expires: c.leaderClock().timeOf(s.expires),
			Ephemeral: c.tree.Ephemerals(s.id), Server: -1,
		}
		if s.link != nil {
			list[i].Server = s.link.server
		}
	}
	return list
}
