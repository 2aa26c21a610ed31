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
)

// A Scenario is what a run executes: processes that each acquire the lock, stay in the critical
// section as long as the schedule says, and release it, several times.
type Scenario struct {
	Subject Subject
	Clients int         // number of processes, from 1 to 100
	Cycles  int         // acquisitions per process, from 1 to 100
	Faults  faults.Plan // the faults that a run may see; [faults.Parse] reads one
	Client  ClientKind  // the client library of the processes; default: [Model]
	// Severity says how hard faults strike; default: [faults.DefaultSeverity].
	Severity faults.Severity
	Servers  int // size of the ensemble, from 1 to 7; default 1; followers lag behind the leader
}

// Validate returns an error that names the invalid field, or nil.
func (s *Scenario) Validate() error {
	if s.Subject.Sequence < 0 {
		return fmt.Errorf("the first sequential node of the lock %s cannot have the number %d",
			s.Subject.Name, s.Subject.Sequence)
	}
	scenario := s.engine()
	return scenario.Validate()
}

// A ClientKind says which client library the processes of a scenario use.
type ClientKind uint8

// The client kinds.
const (
	Model ClientKind = iota // simzk's model of go-zookeeper/zk: fast
	Real                    // go-zookeeper/zk itself, unmodified, over connections in memory
)
