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
	id      int64
	owner   *Link // whose session it is, connected or not
	link    *Link // the connection that carries the session, nil while there is none
	timeout time.Duration
	touched time.Duration // when the server last heard of the client
	since   time.Duration // since when the client's pings count; see detach
	expires time.Duration // when the session ends unless the server hears of the client
	unheard bool          // what the client says does not reach the leader
}

// attach gives the session a connection.
func (s *session) attach(l *Link, now time.Duration, tick time.Duration) {
	s.link, s.since, s.unheard = l, now, false
	s.touch(now, tick)
}

// touch notes that the server has heard of the client. A request of a crashed client that is served late counts too.
func (s *session) touch(now, tick time.Duration) {
	s.touched = now
	s.expires = expiry(now+s.timeout, tick)
}

// detach takes the connection away. A simulated client pings every third of the session timeout while it is connected;
// the pings are not steps of their own, so the last one is computed here.
func (s *session) detach(now, tick time.Duration) {
	if s.link.pings {
		pingEvery := s.timeout / 3
		s.touched = max(s.touched, s.since+(now-s.since)/pingEvery*pingEvery)
		s.expires = expiry(s.touched+s.timeout, tick)
	}
	s.link = nil
}

// counting tells whether the session's end is only a matter of time.
func (s *session) counting() bool { return s.link == nil || !s.link.pings || s.unheard }

// expiry rounds up to the next tick as ZooKeeper's ExpiryQueue does: a session ends at a multiple of the tick that is
// strictly later than its timeout.
func expiry(end, tick time.Duration) time.Duration { return (end/tick + 1) * tick }

// serveConnect opens a session for a link, or gives it the one that it asks for.
func (c *Cluster) serveConnect(l *Link, r *request) {
	if ask := r.connect; ask != nil && !c.admit(l, r, ask) {
		return
	}
	if r.seen > c.zxidOf(l.server) {
		c.hangUp(l) // The client has seen more than this server.
		return
	}
	i, found := c.findSession(r.session)
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
		l.session.attach(l, c.now, c.config.TickTime)
		if l.crashed.Load() {
			l.session.detach(c.now, c.config.TickTime) // The server finds the connection closed right after the handshake.
		}
	} else {
		r.session = 0 // The session has expired; the client learns it from a session id of 0.
	}
	c.respond(l, r)
}

// admit does what a server does with a handshake before it looks for the session, and reports whether it goes on. The
// order is that of ZooKeeperServer.processConnectRequest: a client that has seen more than the server is sent away; a
// client that asks for a session costs the connection that has it, even if its password is wrong.
func (c *Cluster) admit(l *Link, r *request, ask *wire.ConnectRequest) bool {
	if ask.LastZxidSeen > c.zxidOf(l.server) || !c.Serving(l.server) {
		c.hangUp(l)
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
			c.hangUp(holder)
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
	c.agree(transaction{process: l.process})
	s := &session{id: c.sessionID(l.server), owner: l, timeout: timeout}
	i, _ := c.findSession(s.id)
	c.sessions = slices.Insert(c.sessions, i, s)
	c.record(history.Event{At: c.now, Kind: history.SessionOpened, Process: l.process, Session: s.id, Zxid: c.zxid})
	return s
}

// sessionID returns the id of the next session that a server opens: the server's own id is the highest byte.
func (c *Cluster) sessionID(server int) int64 {
	return int64(c.servers[server].id)<<56 | (c.config.FirstSession+c.lastSession)&(1<<56-1)
}

// serveClose ends the session. The client hears of its own ephemeral nodes' deletion before the reply, if it watches
// them; only then are its watches gone.
func (c *Cluster) serveClose(l *Link, r *request) {
	if _, lives := c.findSession(l.session.id); lives {
		c.endSession(l.session, history.SessionClosed)
	}
	if !c.lagging(l.server) {
		l.session = nil
		c.logGone(l, c.watches.drop(l))
	}
	c.respond(l, r)
}

// endSession deletes the session's ephemeral nodes and forgets the session, in one transaction.
func (c *Cluster) endSession(s *session, how history.Kind) {
	process := s.owner.process
	c.zxid++
	w := tree.Write{Op: wire.OpCloseSession, Zxid: c.zxid, Session: s.id}
	c.tree.Apply(&w)
	if c.config.Lag {
		c.agree(transaction{process: process, write: &w, ended: s.id})
	}
	c.committed(process)
	i, _ := c.findSession(s.id)
	c.sessions = slices.Delete(c.sessions, i, i+1)
	c.record(history.Event{At: c.now, Kind: how, Process: process, Session: s.id, Zxid: c.zxid})
}

// expire ends a session whose time is over. The server closes the connection that carries it, without a word.
func (c *Cluster) expire(s *session) {
	c.endSession(s, history.SessionExpired)
	if l := s.link; l != nil && !c.lagging(l.server) {
		l.session = nil
		c.hangUp(l)
	}
	for _, l := range c.links {
		if l.session == s && !c.lagging(l.server) { // A client that has moved on has left this connection behind.
			l.session = nil
		}
	}
	s.owner.sessionExpired(s)
}

// Expire ends a session as if its time were over, and reports whether there was one of that id.
func (c *Cluster) Expire(id int64) bool {
	i, found := c.findSession(id)
	if found {
		c.expire(c.sessions[i])
	}
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
	ID        int64
	Timeout   time.Duration
	Expires   time.Duration // when it ends unless the server hears of the client, as [Cluster.Now] has the time
	Ephemeral []string      // the paths of its ephemeral nodes
	Server    int           // to which the client is connected; -1 if to none
}

// SessionList tells of every session that lives, by id.
func (c *Cluster) SessionList() []SessionInfo {
	list := make([]SessionInfo, len(c.sessions))
	for i, s := range c.sessions {
		list[i] = SessionInfo{ID: s.id, Timeout: s.timeout, Expires: s.expires, Ephemeral: c.tree.Ephemerals(s.id), Server: -1}
		if s.link != nil {
			list[i].Server = s.link.server
		}
	}
	return list
}
