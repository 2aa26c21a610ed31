package scenarios

import (
	"reflect"
	"runtime"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A zkClient is the client of one process, model or real.
type zkClient struct {
	*simzk.Link
	conn    simzk.Client
	cluster *simzk.Cluster
}

// Handle returns the [simzk.Client].
func (c *zkClient) Handle() any { return c.conn }

// Pending reports whether a request waits for its reply.
func (c *zkClient) Pending() bool { return c.Link.Pending() != nil }

// Phase returns what the oldest request is for.
func (c *zkClient) Phase() faults.Phase {
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

// A zkProcess is what the code of a process knows of its ZooKeeper.
type zkProcess struct {
	Client         simzk.Client
	Directory      string
	SessionTimeout time.Duration
}

// processOf returns that of a process with the given client.
func processOf(client Client) zkProcess {
	c := client.(*zkClient)
	return zkProcess{
		Client: c.conn, Directory: lockDirectory, SessionTimeout: c.cluster.SessionTimeout(),
	}
}

// simulatorPackage is the prefix of the names of functions of package simzk.
var simulatorPackage = func() string {
	name := runtime.FuncForPC(reflect.ValueOf(simzk.New).Pointer()).Name()
	return strings.TrimSuffix(name, "New")
}()

// OwnsFrame reports whether a function belongs to the simulated ZooKeeper or to the adapter.
func (s zkService) OwnsFrame(function string) bool {
	return strings.HasPrefix(function, simulatorPackage) ||
		s.Adapter != "" && strings.HasPrefix(function, s.Adapter)
}
