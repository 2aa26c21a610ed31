package simzk

import "time"

// The phases of the ensemble's periodic timers in virtual time. A real leader rounds the ends of
// sessions to multiples of the tick by the time since its machine started (ExpiryQueue), and pings
// from the moment when it was elected (Leader.lead), so that no two of these timers agree.
type phases struct {
	expiryPhase time.Duration // less than a tick
	relayPhase  time.Duration // less than half a tick
}

// ShiftExpiry moves the instants at which sessions can end, which are multiples of the tick, by a
// part of the tick. It is meant for the beginning of a run.
func (c *Cluster) ShiftExpiry(part, parts int) {
	c.expiryPhase = c.config.TickTime * time.Duration(part) / time.Duration(parts)
	for _, s := range c.sessions {
		c.restartTimer(s)
	}
}

// ShiftRelay moves the instants at which followers report their clients to the leader, which are
// multiples of half a tick, by a part of half a tick. It is meant for the beginning of a run.
func (c *Cluster) ShiftRelay(part, parts int) {
	c.relayPhase = c.config.TickTime / 2 * time.Duration(part) / time.Duration(parts)
}

// ShiftPings makes the pings of a model client begin earlier, by a part of the ping interval. It
// has no effect on another client.
// It is meant for the beginning of a run.
func (c *Cluster) ShiftPings(l *Link, part, parts int) {
	if l.session == nil || l.model == nil {
		return
	}
	earlier := PingInterval(l.session.timeout) * time.Duration(part) / time.Duration(parts)
	l.session.pingStart -= earlier
	l.model.PingsShifted(earlier)
}

// NextInstant returns the first time after the given one at which a session can end, a follower
// reports its clients, a client pings, or one of the events of [Cluster.Deadline] happens.
func (c *Cluster) NextInstant(after time.Duration) time.Duration {
	next := c.NextExpiry(after)
	if c.config.Lag {
		next = min(next, c.reportedUpTo(after)+c.config.TickTime/2)
	}
	for _, s := range c.sessions {
		if at, ok := s.nextPing(after); ok {
			next = min(next, at)
		}
	}
	if at, ok := c.Deadline(); ok && at > after {
		next = min(next, at)
	}
	return next
}

// NextExpiry returns the first time after the given one at which sessions can end.
func (c *Cluster) NextExpiry(after time.Duration) time.Duration {
	clock := c.leaderClock()
	return clock.timeOf(c.expiryPhase +
		floor(clock.read(after)-c.expiryPhase, c.config.TickTime) + c.config.TickTime)
}

// NextPing returns the first time after the given one at which a client pings, and false if it
// sends no pings or the leader will not hear of them for now.
func (c *Cluster) NextPing(l *Link, after time.Duration) (at time.Duration, ok bool) {
	if l.session == nil {
		return 0, false
	}
	return l.session.nextPing(after)
}

// nextPing is [Cluster.NextPing] for a session.
func (s *session) nextPing(after time.Duration) (at time.Duration, ok bool) {
	if s.link == nil || !s.link.pings || s.unreachable {
		return 0, false
	}
	if after < s.pingStart {
		return s.pingStart, s.pingStart != noPing
	}
	return LastPing(s.pingStart, after, s.timeout) + PingInterval(s.timeout), true
}

// floor rounds a duration, which may be negative, down to a multiple of a period.
func floor(d, period time.Duration) time.Duration {
	if d < 0 {
		d -= period - 1
	}
	return d / period * period
}
