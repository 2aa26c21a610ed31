package zookeeper

import (
	"slices"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/sim"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client"
	"github.com/interlock-sim/interlock/simzk/client/real"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A processClient is the client of one process, model or real, or stands for those that the process
// opens itself.
type processClient struct {
	*simzk.Link
	handle  any
	conn    client.Client // handle, if it is one
	cluster *simzk.Cluster
}

// Handle returns the [client.Client], or the [real.Endpoint] of clients that the process opens.
func (c *processClient) Handle() any { return c.handle }

// pending returns the oldest request in flight on the first connection that has any, or nil.
func (c *processClient) pending() *wire.Request {
	oldest := c.Link.Pending()
	for _, further := range c.Further() {
		if oldest == nil {
			oldest = further.Pending()
		}
	}
	return oldest
}

// Pending reports whether a request waits for its reply.
func (c *processClient) Pending() bool { return c.pending() != nil }

// Unserved returns the number of requests that the servers have not handled.
func (c *processClient) Unserved() int {
	n := c.Link.Unserved()
	for _, further := range c.Further() {
		n += further.Unserved()
	}
	return n
}

// Undelivered returns the number of messages that are on their way to the process.
func (c *processClient) Undelivered() int {
	n := c.Link.Undelivered()
	for _, further := range c.Further() {
		n += further.Undelivered()
	}
	return n
}

// EventNext reports whether the next message on some connection is an event and no reply.
func (c *processClient) EventNext() bool {
	return c.Link.EventNext() || slices.ContainsFunc(c.Further(), (*simzk.Link).EventNext)
}

// Phase returns what the oldest request is for.
func (c *processClient) Phase() faults.Phase {
	r := c.pending()
	switch {
	case r == nil:
		return faults.Waiting
	case r.Watch:
		return faults.SettingWatch
	case r.Op == wire.OpCreate:
		return faults.CreateInFlight
	case r.Op == wire.OpGetChildren2:
		return faults.Listing
	}
	return faults.Asking
}

// A Connection is what the code of a process knows of its ZooKeeper.
type Connection struct {
	Client         client.Client // nil if the process opens its clients itself
	Address        string        // of the servers, if the process opens its clients itself
	Directory      string
	SessionTimeout time.Duration
}

// ConnectionOf returns the connection of the process with the given client.
func ConnectionOf(of sim.Client) Connection {
	c := of.(*processClient)
	connection := Connection{
		Client: c.conn, Directory: lockDirectory, SessionTimeout: c.cluster.SessionTimeout(),
	}
	if endpoint, ok := c.handle.(*real.Endpoint); ok {
		connection.Address, connection.SessionTimeout = endpoint.Address(), ownTimeout
	}
	return connection
}

// Connects reports whether the client is one of ZooKeeper.
func Connects(c sim.Client) bool {
	_, ok := c.(*processClient)
	return ok
}

// OwnsFrame reports whether a function belongs to the simulated ZooKeeper or to the adapter.
func (s Service) OwnsFrame(function string) bool {
	return client.Simulates(function) || s.Adapter != "" && strings.HasPrefix(function, s.Adapter)
}

// OwnsCall reports whether a function belongs to the simulated ZooKeeper, to the adapter, or to
// go-zookeeper/zk's client.
func (s Service) OwnsCall(function string) bool {
	return s.OwnsFrame(function) || client.OwnsCall(function)
}

// StepCost returns 1 for the model of the client. The real one takes about 20 times as long.
func (Service) StepCost(realClient bool) int {
	if realClient {
		return 20
	}
	return 1
}

// Determinize makes go-zookeeper/zk deterministic until restore is called.
func (Service) Determinize() (restore func()) { return real.Determinize() }
