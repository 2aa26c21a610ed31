// Package service has what the simulations of services other than ZooKeeper share: the time, the
// log and the ages of messages of a run, and the processes that the run stops and resumes.
package service

import (
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/sim"
)

// A Core is the part of a [sim.System] that does not depend on the service.
type Core struct {
	config   sim.Config
	now      time.Duration
	ages     uint64
	woken    bool
	activity chan struct{}
}

// NewCore returns the core of a new run.
func NewCore(config sim.Config) Core {
	return Core{config: config, activity: make(chan struct{}, 1)}
}

// Now returns the time since the start of the run.
func (c *Core) Now() time.Duration { return c.now }

// SetNow sets the time since the start of the run.
func (c *Core) SetNow(now time.Duration) { c.now = now }

// Settle waits until every process of the run is blocked.
func (c *Core) Settle() { c.config.Settle() }

// Record appends an event to the history, with the present time.
func (c *Core) Record(e history.Event) {
	e.At = c.now
	c.config.Log.Append(e)
}

// Activity returns a channel that receives when a process has acted.
func (c *Core) Activity() <-chan struct{} { return c.activity }

// Wake notes that something has reached a process.
func (c *Core) Wake() { c.woken = true }

// Woken reports whether anything has reached a process since the last call.
func (c *Core) Woken() (woken bool) {
	woken, c.woken = c.woken, false
	return woken
}

// NextAge returns the age of the next message.
func (c *Core) NextAge() uint64 {
	c.ages++
	return c.ages
}

// Resume ends the pause of a process, and records it. The goroutines that the pause has stopped
// continue one after the other, in the order in which they stopped.
//
// Otherwise they would race: go-redis goes on dialing after its caller's context has ended, and
// dials again for the next command. The two connections would enter its pool in any order.
func (c *Core) Resume(x *Execution) {
	c.Record(history.Event{Kind: history.Resumed, Process: int32(x.Process())})
	for _, resumed := range x.resume() {
		close(resumed)
		c.Wake()
		c.Settle()
	}
}
