// Package scenarios tests lock code against a simulated ZooKeeper.
//
// A [Scenario] runs the real code of a lock, a [Subject], in several processes: goroutines in a
// bubble of virtual time, in which one step happens at a time. The same decisions give the same
// run. Package interlock searches for a schedule that violates a property that the lock claims.
package scenarios

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
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

// CyclesMax bounds the acquisitions of a process, which keeps a schedule within a few seconds.
const CyclesMax = 100

// Validate returns an error that names the invalid field, or nil.
func (s *Scenario) Validate() error {
	if err := s.Subject.validate(); err != nil {
		return err
	}
	if err := s.Subject.Fits(s.EffectiveServers(), s.Client); err != nil {
		return err
	}
	switch {
	case s.Client > Dialed:
		return fmt.Errorf("there is no client %d: Scenario.Client is scenarios.Model, "+
			"scenarios.Real or scenarios.Dialed", s.Client)
	case s.Subject.Real && s.Client != Real:
		return fmt.Errorf("the lock %s needs a *zk.Conn: set Client: scenarios.Real in the "+
			"scenario", s.Subject.Name)
	case s.Servers < 0 || s.Servers > sim.ServersMax:
		return fmt.Errorf("servers must be from 1 to %d, not %d", sim.ServersMax, s.Servers)
	case s.Severity != faults.Severity{} && s.Severity.Validate() != nil:
		return s.Severity.Validate()
	case s.Clients < 1 || s.Clients > sim.ClientsMax:
		return fmt.Errorf("clients must be from 1 to %d, not %d", sim.ClientsMax, s.Clients)
	case s.Threads < 0 || s.Threads > history.ThreadsMax:
		return fmt.Errorf("threads must be from 1 to %d, not %d", history.ThreadsMax, s.Threads)
	case s.Threads > 1 && (s.Client == Dialed || s.Subject.Real):
		return errors.New("several threads need a Process.Client: a client that the code opens " +
			"itself, or a *zk.Conn, does not tell which thread makes a request")
	case s.Threads > 1 && s.Subject.OneThread:
		return fmt.Errorf("what Open of the lock %s returns is for one thread, not %d",
			s.Subject.Name, s.Threads)
	case s.Cycles < 1 || s.Cycles > CyclesMax:
		return fmt.Errorf("cycles must be from 1 to %d, not %d", CyclesMax, s.Cycles)
	}
	if err := s.faultsFit(); err != nil {
		return &UnfitFaultsError{err, s.lacks()}
	}
	return nil
}

// Fits returns an error if a scenario with this number of servers and this client lacks what the
// lock needs.
func (s *Subject) Fits(servers int, client ClientKind) error {
	switch {
	case servers < s.Servers:
		return fmt.Errorf("the lock %s needs %d servers, not %d", s.Name, s.Servers, servers)
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

// Resolved returns the scenario as recordings know it: with its [Dimensions].
func (s Scenario) Resolved() Scenario {
	d := s.Dimensions()
	return d.Of(s.Subject)
}

// String describes the scenario in a line.
func (s *Scenario) String() string {
	return Describe(s)
}

// EffectiveSeverity returns how hard faults strike. Unless the scenario says it, pauses on a
// service whose data expire last as long as the lock's contract covers. It has a latency if the
// plan slows links down.
func (s *Scenario) EffectiveSeverity() faults.Severity {
	severity := s.Severity
	if severity == (faults.Severity{}) {
		severity = faults.DefaultSeverity()
		if s.Expires() {
			severity.Pause = max(severity.Pause, s.Contract().Pause)
		}
	}
	if s.SlowsLinks() {
		severity.Latency = cmp.Or(severity.Latency, faults.DefaultLatency)
	}
	return severity
}

// SlowsLinks reports whether the plan has a fault after which messages take time.
func (s *Scenario) SlowsLinks() bool {
	return s.Strikes(faults.SlowLink) || s.Strikes(faults.SlowRequests) ||
		s.Strikes(faults.SlowReplies)
}

// Expires reports whether data of the service expire.
func (s *Scenario) Expires() bool {
	service, ok := s.Subject.Service.(sim.Expiring)
	return ok && service.Expires()
}

// Contract returns the severity of faults up to which the lock promises
// [history.ClientMutualExclusion], and [history.Validity] as far as clocks matter.
func (s *Scenario) Contract() faults.Severity {
	if s.Subject.Severity == (faults.Severity{}) {
		return faults.DefaultSeverity()
	}
	return s.Subject.Severity
}

// DescribeContract describes how far the lock promises client-mutual-exclusion, as far as the
// scenario can go beyond.
func (s *Scenario) DescribeContract() string {
	text := s.Contract().String()
	if s.Faults.Names(faults.CloseSession) {
		text += ", sessions not closed by others"
	}
	return text
}
