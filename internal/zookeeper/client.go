package zookeeper

import (
	"reflect"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/sim"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A client is the client of one process, model or real.
type client struct {
	*simzk.Link
	conn    simzk.Client
	cluster *simzk.Cluster
}

// Handle returns the [simzk.Client].
func (c *client) Handle() any { return c.conn }

// Pending reports whether a request waits for its reply.
func (c *client) Pending() bool { return c.Link.Pending() != nil }

// Phase returns what the oldest request is for.
func (c *client) Phase() faults.Phase {
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
	Client         simzk.Client
	Directory      string
	SessionTimeout time.Duration
}

// ConnectionOf returns the connection of the process with the given client.
func ConnectionOf(of sim.Client) Connection {
	c := of.(*client)
	return Connection{
		Client: c.conn, Directory: lockDirectory, SessionTimeout: c.cluster.SessionTimeout(),
	}
}

// simulator is the prefix of the full names of functions of package simzk.
var simulator = reflect.TypeFor[simzk.Config]().PkgPath() + "."

// OwnsFrame reports whether a function belongs to the simulated ZooKeeper or to the adapter.
func (s Service) OwnsFrame(function string) bool {
	return strings.HasPrefix(function, simulator) ||
		s.Adapter != "" && strings.HasPrefix(function, s.Adapter)
}

// OwnsCall reports whether a function belongs to the simulated ZooKeeper, to the adapter, or to
// go-zookeeper/zk's client.
func (s Service) OwnsCall(function string) bool {
	return s.OwnsFrame(function) || simzk.OwnsCall(function)
}

// Determinize makes go-zookeeper/zk deterministic until restore is called.
func (Service) Determinize() (restore func()) { return simzk.Determinize() }
