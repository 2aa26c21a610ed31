package simzk

import "time"

// A clock is that of a server. It may go faster or slower than the virtual time, which is that of
// the processes.
type clock struct {
	reading         time.Duration // what it showed
	at              time.Duration // when it showed that
	percent         int64         // of the speed of the virtual time, from then on
	previousPercent int64         // the same until then
}

// trueClock shows the virtual time.
var trueClock = clock{percent: 100, previousPercent: 100}

// read returns what the clock shows.
func (k clock) read(now time.Duration) time.Duration {
	percent := k.percent
	if now < k.at {
		percent = k.previousPercent
	}
	return k.reading + (now-k.at)*time.Duration(percent)/100
}

// timeOf returns the earliest time at which the clock shows no less than the reading.
func (k clock) timeOf(reading time.Duration) time.Duration {
	percent := time.Duration(k.percent)
	return k.at + ((reading-k.reading)*100+percent-1)/percent
}

// SetClockRate makes a server's clock go at so many percent of the speed of the processes' clocks,
// from now on. A leader times sessions by its clock.
func (c *Cluster) SetClockRate(server, percent int) {
	s := &c.servers[server]
	s.clock = clock{
		reading: s.clock.read(c.now), at: c.now, percent: int64(percent),
		previousPercent: s.clock.percent,
	}
}

// ClockRate returns at how many percent of the processes' speed a server's clock goes.
func (c *Cluster) ClockRate(server int) int { return int(c.servers[server].clock.percent) }

// JumpClock sets the wall clock of a server ahead, or back. Sessions are not timed by wall clocks;
// the times of creation and modification that nodes have are the leader's.
func (c *Cluster) JumpClock(server int, by time.Duration) { c.servers[server].wallOffset += by }

// ClockAhead returns how far a server's wall clock is ahead.
func (c *Cluster) ClockAhead(server int) time.Duration { return c.servers[server].wallOffset }

// leaderClock is by which sessions are timed: that of the leader, or of whoever led last while
// there is none.
func (c *Cluster) leaderClock() clock {
	if c.leader == noLeader {
		return trueClock
	}
	return c.servers[c.leader].clock
}

// millis returns the leader's wall clock, in milliseconds since 1970.
func (c *Cluster) millis() int64 {
	at := c.now
	if c.leader != noLeader {
		at += c.servers[c.leader].wallOffset
	}
	return c.config.EpochMillis + at.Milliseconds()
}
