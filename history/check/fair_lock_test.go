package check_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

// A fairLock simulates a fair lock and records its history. Its processes queue by nodes, and each
// watches the node before its own.
type fairLock struct {
	events  []history.Event
	zxid    int64
	watch   int32
	queue   []int32 // the processes with a node, oldest first
	phase   []phase // of each process, by number
	tries   []int32
	zxids   []int64 // of its last node
	watches []int32 // the watch that is armed, 0 for none
	version int64   // of the resource that the lock protects
}

type phase uint8

const (
	idle phase = iota
	called
	queued
	holding
	unlocking // the node is still there
	unlocked  // the node is gone
	crashed   // until the session expires
	left
)

func newFairLock(processes int) *fairLock {
	return &fairLock{
		phase: make([]phase, processes+1), tries: make([]int32, processes+1),
		watches: make([]int32, processes+1),
		zxids:   make([]int64, processes+1),
	}
}

func (c *fairLock) log(events ...history.Event) { c.events = append(c.events, events...) }

func (c *fairLock) path(p int32) string { return fmt.Sprintf("/lock/%d-%d", p, c.tries[p]) }

// step performs the next step of a process, and reports whether there was one.
func (c *fairLock) step(p int32) bool {
	switch c.phase[p] {
	case idle:
		c.tries[p]++
		c.log(lockCall(p, c.tries[p]))
	case called:
		c.create(p)
	case queued:
		if c.queue[0] != p {
			return false
		}
		granted := lockOK(p, c.tries[p], "")
		granted.Zxid = c.zxids[p]
		c.log(granted, enter(p, c.tries[p]), read(p, c.tries[p], c.version), reenter(p, c.tries[p]),
			reentered(p, c.tries[p]))
	case holding:
		c.version++
		c.log(wrote(p, c.tries[p], c.version), exited(p, c.tries[p]), on(history.Leave, p),
			unlockCall(p, c.tries[p]))
	case unlocking:
		c.delete(p)
	case unlocked:
		c.log(unlockOK(p, c.tries[p]))
		c.phase[p] = idle
		return true
	case crashed:
		c.delete(p)
		end := expired(p)
		end.Zxid = c.zxid
		c.log(end)
	case left:
		return false
	}
	c.phase[p]++
	return true
}

func (c *fairLock) create(p int32) {
	c.zxid++
	c.zxids[p] = c.zxid
	c.log(created(p, c.path(p), c.zxid))
	if n := len(c.queue); n > 0 {
		c.watch++
		c.watches[p] = c.watch
		c.log(armed(p, c.watch, c.path(c.queue[n-1]), "data"))
	}
	c.queue = append(c.queue, p)
}

func (c *fairLock) delete(p int32) {
	n := slices.Index(c.queue, p)
	if n < 0 {
		return
	}
	c.zxid++
	gone := deleted(p, c.path(p), c.zxid)
	c.log(gone)
	c.queue = slices.Delete(c.queue, n, n+1)
	if n == len(c.queue) {
		return
	}
	next := c.queue[n]
	w := c.watches[next]
	if w == 0 {
		return // it has crashed
	}
	c.watches[next] = 0
	c.log(fired(next, w, c.path(p), c.zxid), delivered(next, w, c.path(p), c.zxid),
		reply(next, c.zxid))
	if n > 0 {
		c.watch++
		c.watches[next] = c.watch
		c.log(armed(next, c.watch, c.path(c.queue[n-1]), "data"))
	}
}

func (c *fairLock) crash(p int32) {
	if c.phase[p] < crashed {
		if w := c.watches[p]; w != 0 {
			c.watches[p] = 0
			c.log(gone(p, w, "/lock"))
		}
		c.log(crash(p))
		c.phase[p] = crashed
	}
}

// playFairLock draws steps and, if allowed, crashes, and returns the lock in the middle of its use.
func playFairLock(t *rapid.T, crashes bool) *fairLock {
	processes := rapid.IntRange(2, 4).Draw(t, "processes")
	c := newFairLock(processes)
	for _, move := range rapid.SliceOfN(rapid.Uint16(), 30, 90).Draw(t, "moves") {
		p := int32(int(move)%processes) + 1
		if crashes && move%41 == 40 {
			c.crash(p)
		} else {
			c.step(p)
		}
	}
	return c
}

// finish lets all processes complete.
func (c *fairLock) finish() {
	c.log(on(history.FairPhase, 0))
	for moved := true; moved; {
		moved = false
		for p := int32(1); int(p) < len(c.phase); p++ {
			if c.phase[p] != idle {
				moved = c.step(p) || moved
			}
		}
	}
}

func TestLegalHistories(t *testing.T) {
	var c check.Checker
	rapid.Check(t, func(t *rapid.T) {
		fair := playFairLock(t, true)
		events := fair.events
		for range 2 {
			for _, p := range check.Properties() {
				if v := c.Check(p, events); v != nil {
					t.Fatalf("%+v in\n%v", *v, events)
				}
			}
			fair.finish()
			events = fair.events
		}
	})
}

// queueAll lets every process queue, and grants the lock to the first.
func (c *fairLock) queueAll() {
	for p := int32(1); int(p) < len(c.phase); p++ {
		for c.phase[p] != queued && c.phase[p] != holding {
			c.step(p)
		}
	}
	if c.phase[c.queue[0]] == queued {
		c.step(c.queue[0])
	}
}

// TestIllegalGrants uses the lock legally until one process holds it and all others wait, and then
// grants it to one of them.
func TestIllegalGrants(t *testing.T) {
	var c check.Checker
	rapid.Check(t, func(t *rapid.T) {
		fair := playFairLock(t, false)
		fair.queueAll()
		place := rapid.IntRange(1, len(fair.queue)-1).Draw(t, "place")
		p, at := fair.queue[place], len(fair.events)
		fair.log(lockOK(p, fair.tries[p], ""), on(history.Enter, p))
		want := map[history.Property]int{
			history.ServerMutualExclusion: at, history.Linearizable: at,
			history.ClientMutualExclusion: at + 1,
		}
		if place > 1 {
			want[history.FIFO] = at
		}
		for _, property := range check.Properties() {
			v := c.Check(property, fair.events)
			event, wanted := want[property]
			if (v != nil) != wanted || wanted && v.Event != event {
				t.Fatalf("%s: %+v, want a violation: %v, at %d in\n%v", property, v, wanted, event,
					fair.events)
			}
		}
	})
}
