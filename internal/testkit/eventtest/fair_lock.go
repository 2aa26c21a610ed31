package eventtest

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/history"
)

// A FairLock simulates a fair lock and records its history. Its processes queue by nodes, and each
// watches the node before its own.
type FairLock struct {
	Events  []history.Event
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

func newFairLock(processes int) *FairLock {
	return &FairLock{
		phase: make([]phase, processes+1), tries: make([]int32, processes+1),
		watches: make([]int32, processes+1),
		zxids:   make([]int64, processes+1),
	}
}

func (c *FairLock) log(events ...history.Event) { c.Events = append(c.Events, events...) }

func (c *FairLock) path(p int32) string { return fmt.Sprintf("/lock/%d-%d", p, c.tries[p]) }

// step performs the next step of a process, and reports whether there was one.
func (c *FairLock) step(p int32) bool {
	switch c.phase[p] {
	case idle:
		c.tries[p]++
		c.log(LockCall(p, c.tries[p]))
	case called:
		c.create(p)
	case queued:
		if c.queue[0] != p {
			return false
		}
		granted := LockOK(p, c.tries[p], "")
		granted.Zxid = c.zxids[p]
		c.log(granted, Enter(p, c.tries[p]), Read(p, c.tries[p], c.version), Reenter(p, c.tries[p]),
			Reentered(p, c.tries[p]))
	case holding:
		c.version++
		c.log(Wrote(p, c.tries[p], c.version), Exited(p, c.tries[p]), On(history.Leave, p),
			UnlockCall(p, c.tries[p]))
	case unlocking:
		c.delete(p)
	case unlocked:
		c.log(UnlockOK(p, c.tries[p]))
		c.phase[p] = idle
		return true
	case crashed:
		c.delete(p)
		end := Expired(p)
		end.Zxid = c.zxid
		c.log(end)
	case left:
		return false
	}
	c.phase[p]++
	return true
}

func (c *FairLock) create(p int32) {
	c.zxid++
	c.zxids[p] = c.zxid
	c.log(Created(p, c.path(p), c.zxid))
	if n := len(c.queue); n > 0 {
		c.watch++
		c.watches[p] = c.watch
		c.log(Armed(p, c.watch, c.path(c.queue[n-1]), "data"))
	}
	c.queue = append(c.queue, p)
}

func (c *FairLock) delete(p int32) {
	n := slices.Index(c.queue, p)
	if n < 0 {
		return
	}
	c.zxid++
	gone := Deleted(p, c.path(p), c.zxid)
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
	c.log(Fired(next, w, c.path(p), c.zxid), Delivered(next, w, c.path(p), c.zxid),
		Reply(next, c.zxid))
	if n > 0 {
		c.watch++
		c.watches[next] = c.watch
		c.log(Armed(next, c.watch, c.path(c.queue[n-1]), "data"))
	}
}

func (c *FairLock) crash(p int32) {
	if c.phase[p] < crashed {
		if w := c.watches[p]; w != 0 {
			c.watches[p] = 0
			c.log(Gone(p, w, "/lock"))
		}
		c.log(Crash(p))
		c.phase[p] = crashed
	}
}

// PlayFairLock draws steps and, if allowed, crashes, and returns the lock in the middle of its use.
func PlayFairLock(t *rapid.T, crashes bool) *FairLock {
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

// Finish lets all processes complete.
func (c *FairLock) Finish() {
	c.log(On(history.FairPhase, 0))
	for moved := true; moved; {
		moved = false
		for p := int32(1); int(p) < len(c.phase); p++ {
			if c.phase[p] != idle {
				moved = c.step(p) || moved
			}
		}
	}
}

// QueueAll lets every process queue, and grants the lock to the first. It returns the queue.
func (c *FairLock) QueueAll() []int32 {
	for p := int32(1); int(p) < len(c.phase); p++ {
		for c.phase[p] != queued && c.phase[p] != holding {
			c.step(p)
		}
	}
	if c.phase[c.queue[0]] == queued {
		c.step(c.queue[0])
	}
	return c.queue
}

// GrantAnyway grants the lock to a process out of turn. The process enters its critical section.
func (c *FairLock) GrantAnyway(p int32) {
	c.log(LockOK(p, c.tries[p], ""), On(history.Enter, p))
}
