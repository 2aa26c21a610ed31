package simzk

import (
	"math"
	"slices"
	"time"
)

// The contacts of a session are what its server has heard from the client, and what the leader
// knows of that. A follower notes which sessions it hears from (LearnerSessionTracker), and answers
// each ping of the leader with those that it has noted since its last answer, its report. The
// leader prolongs these sessions when the report arrives. It pings every half tick, so the reports
// of a follower that is connected are not stored but computed from the time.
//
// While messages of the leader do not reach the follower, its pings wait, and while messages of the
// follower do not reach the leader, its reports wait. TCP delivers both as soon as the partition
// ends, before anything that was sent later.
//
// A contact at the very time of a half tick counts as reported by it.
type contacts struct {
	pingStart time.Duration // when the client's first ping that counts arrives, or noPing
	contactAt time.Duration // when the server last heard a request, or a ping out of its schedule
	relayedAt time.Duration // the last contact before contactAt that a report in time contained
	// When the leader heard a report that came late, if it has heard none since; during a
	// partition, when it last heard of the client.
	touchedAt time.Duration
	silent    bool // the client learns late that it has a connection; see [Cluster.SlowOpen]
	reported  bool // a report contains the contact at contactAt, whatever the time
	waits     bool // a report that waits to reach the leader contains the session
	// A ping that the paused client had to send before contactAt waits; see [Cluster.touchSession].
	pingWaits bool
}

// attach assigns a connection to the session, of which the leader, or the only server that knows
// the session, hears at once. The client's contact counts at the follower too, which reports it.
func (c *Cluster) attach(s *session, l *Link) {
	s.link, s.reporter = l, 0
	s.contacts = contacts{pingStart: c.now, contactAt: c.now, relayedAt: c.now}
	if l.opening {
		s.pingStart, s.silent = noPing, true
	}
	c.restartTimer(s)
	s.unreachable = !s.local && !c.leaderConnected(l.server)
	if s.unreachable {
		s.touch(c, c.now)
	}
}

// noPing is the time of the first ping of a client that does not know yet that it has a connection.
const noPing = time.Duration(math.MaxInt64 / 2)

// touch notes when the leader has heard of the client, and replaces what it knew before.
func (n *contacts) touch(c *Cluster, at time.Duration) {
	n.touchedAt, n.relayedAt = at, c.reportedUpTo(at)
}

// restartTimer restarts the session's timeout.
func (c *Cluster) restartTimer(s *session) { s.expires = c.expiry(s, c.now) }

// detach removes the connection. A follower that is cut off remembers what it has still to report;
// the report of a follower that is connected is taken for granted.
func (c *Cluster) detach(s *session) {
	c.silence(s)
	server := s.link.server
	if c.follows(server) && c.cutOff(server) && !s.local && (s.waits || !s.reported) {
		s.reporter = server + 1
	}
	s.link = nil
}

// holder returns the index of the server that reports the session: that of its connection, or if it
// has none, a server that has lost the connection during a partition.
func (s *session) holder() (server int, ok bool) {
	switch {
	case s.local:
		return 0, false
	case s.link != nil:
		return s.link.server, true
	}
	return s.reporter - 1, s.reporter > 0
}

// markUnreachable notes that the client's requests and pings no longer reach its server, though its
// connection exists. The caller blocks them afterwards.
func (c *Cluster) markUnreachable(s *session) {
	c.silence(s)
	s.unreachable = true
}

// silence computes when the session expires if the server hears no further contact of the client,
// be it because the client's pings stop, or because the server does.
func (c *Cluster) silence(s *session) {
	server := s.link.server
	switch {
	case s.local || c.leaderConnected(server):
		if s.link.pings && !s.link.pingsBlocked() {
			c.expect(s, server)
			c.notePings(s)
		}
	case c.servers[server].epoch == c.epoch:
		c.settle(s, server)
	}
	// A leader of another epoch has given the session its whole timeout, and knows of no contact.
}

// notePings notes the client's last ping as a contact, before its schedule changes. Its server is
// connected to the leader.
func (c *Cluster) notePings(s *session) {
	last := max(s.contactAt, s.lastPing(c.now))
	s.relayedAt, s.reported = c.relayedContact(s), s.reported && last == s.contactAt
	s.contactAt = last
}

// resumeContact notes that the server of a client whose connection still exists hears its messages
// again. A ping that waited arrives now; if none was due, the server hears nothing yet. Later pings
// come at their times: a paused process and a stalled connection both keep the phase of Go's
// ticker. A follower reports what it hears now at its next answer, as any other contact.
func (c *Cluster) resumeContact(s *session) {
	server := s.link.server
	s.unreachable = !s.local && !c.leaderConnected(server)
	if !s.link.pings {
		if !s.unreachable {
			c.attach(s, s.link)
		}
		return
	}
	ping := s.lastPing(c.now)
	late := s.pingWaits || ping > s.contactAt
	if late {
		s.pingStart, s.pingWaits = ping+PingInterval(s.timeout), false
	}
	c.settleBefore(s, server)
	if late {
		s.contactAt, s.reported = c.now, false
	}
}

// touchSession notes that the session's server has received a request of the client. A crashed
// client's request that is served late counts too, unless the follower is cut off and has nothing
// else to report of it, or was cut off at the crash and no longer is; that of a paused process does
// not count.
func (c *Cluster) touchSession(s *session, l *Link) {
	cutOff := !s.local && c.cutOff(l.server)
	onItsWay := l.paused && !l.stallRequests && l.requestLatency > 0 && !l.crashed.Load()
	if s.unreachable && !onItsWay && (l.pingsBlocked() || !cutOff) ||
		cutOff && s.link == nil && s.reporter == 0 {
		return
	}
	if l.pingsBlocked() && s.pingStart <= c.now {
		s.pingWaits = s.pingWaits || LastPing(s.pingStart, c.now, s.timeout) > s.contactAt
	}
	c.settleBefore(s, l.server)
	s.contactAt, s.reported = c.now, false
	if !cutOff {
		c.expect(s, l.server)
	}
}

// settleBefore accounts for the contacts before one that is to be noted.
func (c *Cluster) settleBefore(s *session, server int) {
	switch {
	case !s.local && c.cutOff(server):
		c.settle(s, server)
	case !s.reported && s.contactAt <= c.reportedUpTo(c.now):
		s.relayedAt = s.contactAt
	}
}

// expect computes when the session expires if its server, which is connected to the leader, hears
// no more of the client: after its last contact is reported, unless the session expires before.
func (c *Cluster) expect(s *session, server int) {
	last := max(s.contactAt, s.lastPing(c.now))
	if s.local || server == c.leader {
		s.expires = c.expiry(s, last)
		return
	}
	s.expires = c.expiry(s, c.knownAt(s))
	if s.reported && last == s.contactAt {
		return
	}
	if due := c.reportTime(last); c.clockOf(s).timeOf(s.expires) >= due {
		s.expires = max(s.expires, c.expiry(s, due))
	}
}

// endsUnreported returns when a session expires whose client reaches the leader, or false if the
// next report comes before. A contact that arrives after a stall, or shortly before the end of a
// partition without a ping of the leader, can come too late for that.
func (c *Cluster) endsUnreported(s *session) (at time.Duration, ok bool) {
	if s.local || !c.lagging(s.link.server) || c.pingReported(s) {
		return 0, false
	}
	at = c.clockOf(s).timeOf(c.expiry(s, c.knownAt(s)))
	return at, at < c.reportedUpTo(c.now)+c.config.TickTime/2
}

// pingReported reports whether the leader certainly knows of a ping of the last interval, so that
// the session does not end before the next report. It spares most sessions the comparison of times.
func (c *Cluster) pingReported(s *session) bool {
	half := c.config.TickTime / 2
	return c.now-s.pingStart >= half && s.scaledTimeout()-PingInterval(s.timeout) >= half &&
		c.servers[c.leader].clock == trueClock
}

// knownAt returns when the leader last heard of the client of a follower that is connected. A
// simulated client pings every third of the session timeout; pings are not steps, so the time of
// the last one is computed here.
func (c *Cluster) knownAt(s *session) time.Duration {
	known := c.relayedContact(s)
	if known <= c.reportedUpTo(c.now) {
		known = c.reportTime(known)
	} // Otherwise the leader has only heard that the connection began.
	return max(known, s.touchedAt)
}

// relayedContact returns the client's last contact that a follower has reported in time.
func (c *Cluster) relayedContact(s *session) time.Duration {
	reported := c.reportedUpTo(c.now)
	last := s.relayedAt
	if !s.reported && s.contactAt <= reported {
		last = s.contactAt
	}
	return max(last, s.lastPing(reported))
}

// lastPing returns when the client's last ping arrived, up to a time, or 0 if none has.
func (s *session) lastPing(upTo time.Duration) time.Duration {
	if l := s.link; l == nil || !l.pings || l.pingsBlocked() || upTo < s.pingStart {
		return 0
	}
	return LastPing(s.pingStart, upTo, s.timeout)
}

// reportedUpTo returns the time of the last report of a follower that is connected.
func (c *Cluster) reportedUpTo(now time.Duration) time.Duration {
	if !c.config.Lag {
		return now
	}
	return c.relayPhase + floor(now-c.relayPhase, c.config.TickTime/2)
}

// reportTime returns when a follower that is connected reports a contact.
func (c *Cluster) reportTime(contact time.Duration) time.Duration {
	if !c.config.Lag {
		return contact
	}
	half := c.config.TickTime / 2
	return c.relayPhase + floor(contact-c.relayPhase+half-1, half)
}

// A waiting is what waits between the leader and a follower, as of the last change of connectivity.
type waiting struct {
	pingsWait   bool          // the leader's messages do not reach the follower
	pingsSince  time.Duration // since then
	reportsWait bool          // the follower's messages do not reach the leader
}

// cutOff reports whether a follower's messages, or those of its leader, are not delivered.
func (c *Cluster) cutOff(server int) bool {
	return c.servers[server].pingsWait || c.servers[server].reportsWait
}

// pingWaits reports whether the leader has pinged a follower since it is not heard.
func (c *Cluster) pingWaits(w *waiting) bool {
	return w.pingsWait && c.reportedUpTo(c.now) > w.pingsSince
}

// refreshReports lets pings and reports wait, or lets those pass that waited, after a change of
// connectivity. What waits between a server and a former leader is lost.
func (c *Cluster) refreshReports(server int) {
	w := &c.servers[server].waiting
	if !c.follows(server) {
		*w = waiting{}
		return
	}
	deaf, mute := !c.hearsLeader(server), !c.reachesLeader(server)
	if deaf == w.pingsWait && mute == w.reportsWait {
		return
	}
	answers := !deaf && c.pingWaits(w)
	for _, s := range c.sessions {
		if holder, ok := s.holder(); ok && holder == server {
			c.settle(s, server)
			c.passReport(s, answers, !mute)
		}
	}
	if deaf && !w.pingsWait {
		w.pingsSince = c.now
	}
	w.pingsWait, w.reportsWait = deaf, mute
	if !c.cutOff(server) {
		w.pingsSince = 0
		c.expectAll(server)
	}
}

// passReport lets a follower answer a ping that waited, and lets its reports reach the leader.
func (c *Cluster) passReport(s *session, answers, arrives bool) {
	if answers && !s.reported {
		s.reported, s.waits = true, true
	}
	if arrives && s.waits {
		s.waits = false
		s.touch(c, c.now)
		c.restartTimer(s)
	}
}

// forgetReports drops the reports of servers that have stopped serving. The caller must disconnect
// the clients.
func (c *Cluster) forgetReports(servers []int) {
	for _, s := range c.sessions {
		if slices.Contains(servers, s.reporter-1) {
			s.reporter = 0
		}
	}
}

// expectAll computes when the silent sessions of a follower expire that is connected again.
func (c *Cluster) expectAll(server int) {
	for _, s := range c.sessions {
		if holder, ok := s.holder(); !ok || holder != server {
			continue
		}
		c.expect(s, server)
		s.reporter = 0
	}
}

// settle notes what has happened to a session at a follower by schedule. If the follower was
// connected, the leader hears of nothing else for now.
func (c *Cluster) settle(s *session, server int) {
	s.contacts = c.settled(s, server)
	if !c.cutOff(server) {
		s.expires = c.expiry(s, s.touchedAt)
	}
}

// settled returns the contacts of a session, with what has happened by schedule since they were
// noted: the client's pings, and the follower's reports if it hears the leader. Afterwards no
// contact counts as reported because of its time, unless the follower still hears the leader.
func (c *Cluster) settled(s *session, server int) contacts {
	now, w := s.contacts, &c.servers[server].waiting
	ping := s.lastPing(c.now)
	if !w.pingsWait && !w.reportsWait {
		now.touch(c, c.knownAt(s))
	}
	if ping > s.contactAt {
		now.contactAt, now.reported = ping, false
	}
	if ping > 0 {
		now.pingStart = ping + PingInterval(s.timeout)
	}
	if !w.pingsWait {
		upTo := c.reportedUpTo(c.now)
		if w.reportsWait && (!s.reported && s.contactAt <= upTo || s.lastPing(upTo) > s.contactAt) {
			now.waits = true
		}
		now.reported = now.reported || now.contactAt <= upTo
	}
	return now
}

// contactsKey covers the contacts of a session that time and its schedule do not determine.
func (c *Cluster) contactsKey(s *session) uint64 {
	server, ok := s.holder()
	if !ok {
		return 0
	}
	now, cutOff := s.contacts, c.cutOff(server)
	if cutOff {
		now = c.settled(s, server)
	}
	key := uint64(s.reporter)<<2 | uint64(btoi(now.reported)<<1|btoi(now.waits))
	if cutOff || now.touchedAt > 0 && now.touchedAt == c.knownAt(s) {
		key = mix(key, uint64(c.now-now.touchedAt))
	}
	if s.reporter > 0 {
		key = mix(key, uint64(c.now-now.contactAt))
	}
	return key
}
