package simzk

import "time"

// A clock is the clock of a server. It may run faster or slower than virtual time, which is the
// clock of the processes.
type clock struct {
	reading         time.Duration // reading at the virtual time at
	at              time.Duration
	percent         int64 // rate after at, relative to virtual time
	previousPercent int64 // rate before at
}

// trueClock shows virtual time.
var trueClock = clock{percent: 100, previousPercent: 100}

// read returns the reading of the clock.
func (k clock) read(now time.Duration) time.Duration {
	percent := k.percent
	if now < k.at {
		percent = k.previousPercent
	}
	return k.reading + (now-k.at)*time.Duration(percent)/100
}

// timeOf returns the earliest virtual time at which the clock shows at least the reading.
func (k clock) timeOf(reading time.Duration) time.Duration {
	percent := time.Duration(k.percent)
	return k.at + ((reading-k.reading)*100+percent-1)/percent
}

// SetClockRate makes a server's clock run at a percentage of the processes' clock rate from now on.
// A leader times sessions by its clock.
func (c *Cluster) SetClockRate(server, percent int) {
	s := &c.servers[server]
	s.clock = clock{
		reading: s.clock.read(c.now), at: c.now, percent: int64(percent),
		previousPercent: s.clock.percent,
	}
}

// ClockRate returns the rate of a server's clock as a percentage of the processes' clock rate.
func (c *Cluster) ClockRate(server int) int { return int(c.servers[server].clock.percent) }

// JumpClock moves the wall clock of a server forward, or back. The leader's wall clock gives nodes
// their creation and modification times; no wall clock times sessions.
func (c *Cluster) JumpClock(server int, by time.Duration) { c.servers[server].wallOffset += by }

// WallClockOffset returns how far a server's wall clock is ahead.
func (c *Cluster) WallClockOffset(server int) time.Duration { return c.servers[server].wallOffset }

// leaderClock returns the clock that times sessions: the leader's, or [trueClock] if there is no
// leader.
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
