package model

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk/client"
	"github.com/interlock-sim/interlock/simzk/client/internal/library"
)

// ConnectionsMax is the highest number of clients that a process has at a time.
const ConnectionsMax = history.ThreadsMax

// A family relates the clients of a process to one another. The first exists from the start of the
// process.
type family struct {
	first    *Conn // nil if the client is the first of its process
	replaced bool  // a later client has the link; only the cluster's caller uses it

	// The fields below are those of the first client.

	hasOpened atomic.Bool // opened is not empty
	opened    []*Conn     // by the process, still without a link; guarded by the lock of the first
	further   []*Conn     // in order of creation; only the cluster's caller uses it
	running   int         // how many further clients are not terminated; guarded like opened
}

// firstClient returns the client that exists from the start of the process.
func (c *Conn) firstClient() *Conn {
	if c.first != nil {
		return c.first
	}
	return c
}

// Connect opens a further client of the process and returns at once, as zk.Connect does. The client
// then connects and opens its session, and its events report both. A process has at most
// [ConnectionsMax] clients at a time; those that are closed do not count. Any goroutine of the
// process may call Connect, on any of its clients. It fails if several threads share the client, and
// after the end of the run.
func (c *Conn) Connect() (client.Client, error) {
	first := c.firstClient()
	first.lockOrExit()
	defer first.Notify()
	defer first.mu.Unlock()
	switch {
	case first.isShutDown:
		return nil, errors.New("interlock: the run is over")
	case first.cluster.Threaded():
		return nil, errors.New("interlock: threads share the client of their process")
	case first.running == ConnectionsMax-1:
		return nil, fmt.Errorf("interlock: a process has at most %d clients at a time; "+
			"close those that it has given up", ConnectionsMax)
	}
	next := &Conn{
		Link: first.Link, cluster: first.cluster, family: family{first: first},
		firstHost: first.firstHost, events: make(chan zk.Event, eventBufferSize),
	}
	first.running++
	first.opened = append(first.opened, next)
	first.hasOpened.Store(true)
	return next, nil
}

// connectOpened lets the clients connect that the process has opened since the last call.
func (c *Conn) connectOpened() {
	c.mu.Lock()
	opened := c.opened
	c.opened = nil
	c.hasOpened.Store(false)
	c.mu.Unlock()
	for _, next := range opened {
		next.attach()
		next.host, next.lastHost = next.firstHost, next.firstHost
		next.phase = library.Dialing
		next.setState(zk.StateConnecting, "connecting")
		if !next.dial() {
			next.redial()
		}
		next.collect()
	}
}

// attach gives the client the link of one that is closed, or else a new one.
func (c *Conn) attach() {
	first, link := c.first, &c.link
	free := slices.IndexFunc(first.further,
		func(other *Conn) bool { return other.phase == library.Terminated && !other.replaced })
	if free >= 0 {
		first.further[free].replaced = true
		link = first.further[free].Link
		c.cluster.ReplaceEnd(link, end{c})
	} else {
		c.cluster.AddConnection(link, first.Link, end{c})
	}
	first.further = append(first.further, c)
	c.mu.Lock()
	c.Link = link
	c.mu.Unlock()
}

// terminated notes that a further client is closed.
func (f *family) terminated() {
	if f.first != nil {
		f.first.mu.Lock()
		f.first.running--
		f.first.mu.Unlock()
	}
}

// others returns all further clients of the process, given the first. Only the cluster's caller
// uses it, at the end of a run.
func (c *Conn) others() []*Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append(slices.Clip(c.further), c.opened...)
}
