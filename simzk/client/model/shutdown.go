package model

import (
	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/simzk/client/internal/library"
	"github.com/interlock-sim/interlock/simzk/tree"
)

// terminate ends the client after Close. A client that was dialing fails its unsent calls;
// otherwise it fails the calls in flight and drops the unsent ones.
func (c *Conn) terminate() {
	failing := c.inFlight
	if c.phase == library.Dialing {
		failing = c.unsent
	}
	c.inFlight, c.unsent = nil, nil
	c.phase = library.Terminated
	if c.first != nil {
		c.first.family.Terminated()
	}
	c.setState(zk.StateDisconnected, "disconnected")
	c.failCalls(failing, zk.ErrConnectionClosed)
	c.invalidateWatches(zk.ErrClosing)
	c.closeEvents()
}

// tearDown makes every goroutine that waits for a reply, and every later caller, exit by
// [runtime.Goexit]. It closes every watch channel. It does so for all clients of the process.
func (c *Conn) tearDown() {
	if c.stub != nil {
		return // There are no goroutines.
	}
	c.mu.Lock()
	c.tornDown = true
	if c.over != nil {
		close(c.over)
		c.over = nil
	}
	waiting := c.waiting
	c.waiting, c.submitted = nil, nil
	c.mu.Unlock()
	for _, r := range waiting {
		close(r.done)
	}
	c.discard()
	for _, other := range c.family.All() {
		other.tearDown()
	}
}

// shutDown closes all clients of the process at the end of a run, without waiting for a reply. It
// closes every watch channel.
func (c *Conn) shutDown() {
	if c.stub != nil {
		return // There are no goroutines.
	}
	c.mu.Lock()
	c.isShutDown = true
	c.closed.Store(true)
	c.status.Store(int32(zk.StateDisconnected))
	waiting := c.waiting
	c.waiting, c.submitted = nil, nil
	for _, r := range waiting {
		r.answer, r.err = new(tree.Result), zk.ErrConnectionClosed
		r.done <- struct{}{}
	}
	c.mu.Unlock()
	c.discard()
	for _, other := range c.family.All() {
		other.shutDown()
	}
}

// discard closes every channel of the client and drops its requests.
func (c *Conn) discard() {
	c.closeEvents()
	c.unsent, c.inFlight = nil, nil
	watchers := c.watchers
	c.watchers = nil
	for _, w := range watchers {
		for _, events := range w.channels {
			c.fireChannel(events, zk.Event{
				Type: zk.EventNotWatching, State: zk.StateDisconnected, Path: w.path,
				Err: zk.ErrClosing,
			})
		}
	}
}
