package model

import (
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/simzk/client"
	"github.com/interlock-sim/interlock/simzk/client/internal/library"
)

// ConnectionsMax is the highest number of clients that a process has at a time.
const ConnectionsMax = library.ConnectionsMax

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
// process may call Connect, on any of its clients. It fails if several threads share the client,
// and after the end of the run.
func (c *Conn) Connect() (client.Client, error) {
	first := c.firstClient()
	first.lockOrExit()
	over := first.isShutDown
	first.mu.Unlock()
	defer first.Notify()
	switch {
	case over:
		return nil, errors.New("interlock: the run is over")
	case first.cluster.Threaded():
		return nil, errors.New("interlock: threads share the client of their process")
	}
	next, err := first.family.Open(func() (*Conn, error) {
		return &Conn{
			Link: first.Link, cluster: first.cluster, first: first, firstHost: first.firstHost,
			events: make(chan zk.Event, eventBufferSize),
		}, nil
	})
	if err != nil {
		return nil, err
	}
	return next, nil
}

// connectOpened lets the clients connect that the process has opened since the last call.
func (c *Conn) connectOpened() {
	for _, next := range c.family.TakeOpened() {
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
	link := &c.link
	old := c.first.family.Replace(c, func(other *Conn) bool {
		return other.phase == library.Terminated
	})
	if old != nil {
		link = old.Link
		c.cluster.ReplaceEnd(link, end{c})
	} else {
		c.cluster.AddConnection(link, c.first.Link, end{c})
	}
	c.mu.Lock()
	c.Link = link
	c.mu.Unlock()
}
