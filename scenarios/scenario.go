// Package scenarios tests lock code against a simulated ZooKeeper.
//
// A [Scenario] runs the real code of a lock, a [Subject], in several processes: goroutines in a
// bubble of virtual time, in which one step happens at a time. The same decisions give the same
// run. [Check], [CheckRapid] and [Fuzz] search for a schedule that violates a property that the
// lock claims, shrink it, and record it for replay.
package scenarios

import (
	"fmt"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/sim"
)

// A Scenario is what a run executes: processes that each acquire the lock, stay in the critical
// section as long as the schedule says, and release it, several times.
type Scenario struct {
	Subject Subject
	Clients int // number of processes, from 1 to 100
	Cycles  int // acquisitions per process, from 1 to 100
	// Threads is the number of threads of each process, which share its handle on the lock, and
	// with it the connection and the session; from 1, the default, to 8. Each contends for itself.
	// They use [Process.Client], of the kind [Model] or [Real].
	Threads int
	Faults  faults.Plan // the faults that a run may see; [faults.MustParse] reads one
	Client  ClientKind  // the client library of the processes; default: [Model]
	// Severity says how hard faults strike; default: [faults.DefaultSeverity].
	Severity faults.Severity
	// Servers is the number of servers, from 1 to 7; followers of ZooKeeper lag behind the leader.
	// Default: what the lock needs, mostly 1.
	Servers int
}

// Validate returns an error that names the invalid field, or nil.
func (s *Scenario) Validate() error {
	if s.Subject.Sequence < 0 {
		return fmt.Errorf("the first sequential node of the lock %s cannot have the number %d",
			s.Subject.Name, s.Subject.Sequence)
	}
	if err := s.Subject.Fits(s.servers(), s.Client); err != nil {
		return err
	}
	scenario := s.engine()
	return scenario.Validate()
}

// Fits returns an error if a scenario with this number of servers and this client lacks what the
// lock needs. 0 servers stand for 1.
func (s *Subject) Fits(servers int, client ClientKind) error {
	switch {
	case max(1, servers) < s.Servers:
		return fmt.Errorf("the lock %s needs %d servers, not %d", s.Name, s.Servers,
			max(1, servers))
	case servers > s.serversMax():
		return fmt.Errorf("the servers of the lock %s are limited to %d, not %d", s.Name,
			s.serversMax(), servers)
	case s.Service != nil && client != Model:
		return fmt.Errorf("the lock %s does not use ZooKeeper, so there is no choice of its client",
			s.Name)
	}
	return nil
}

// serversMax returns the most servers that the lock's service can have.
func (s *Subject) serversMax() int {
	if bounded, ok := s.Service.(sim.Bounded); ok {
		return bounded.ServersMax()
	}
	return sim.ServersMax
}

// A ClientKind says which client library the processes of a scenario use.
type ClientKind uint8

// The client kinds.
const (
	Model ClientKind = iota // simzk's model of go-zookeeper/zk: fast
	Real                    // go-zookeeper/zk itself, unmodified, over connections in memory
	// Dialed processes open clients themselves, at [Process.Address]. Such a scenario runs only
	// under the command interlock test.
	Dialed
)
