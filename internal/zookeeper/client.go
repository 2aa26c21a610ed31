package zookeeper

import (
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

// Pending reports whether a request waits for its reply.
func (c *processClient) Pending() bool { return c.Link.Pending() != nil }

// Phase returns what the oldest request is for.
func (c *processClient) Phase() faults.Phase {
	r := c.Link.Pending()
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
