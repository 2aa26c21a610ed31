package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/sim"
)

// A Scenario is what a run executes: processes that each acquire the lock, stay in the critical
// section as long as the schedule says, and release it, several times.
type Scenario struct {
	Subject Subject
	Clients int         // number of processes
	Cycles  int         // acquisitions per process
	Faults  faults.Plan // the faults that a run may see
	Client  ClientKind  // the client library of the processes
	// how hard faults strike; default: [faults.DefaultSeverity]
	Severity faults.Severity
	Servers  int // size of the ensemble, default 1; followers lag behind the leader
	Threads  int // threads of each process, which share its handle on the lock; default 1
}

// CyclesMax bounds the acquisitions of a process, which keeps a schedule within a few seconds.
const CyclesMax = 100

// Validate returns an error that names the invalid field, or nil.
func (s *Scenario) Validate() error {
	if err := s.Subject.validate(); err != nil {
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
	case s.Cycles < 1 || s.Cycles > CyclesMax:
		return fmt.Errorf("cycles must be from 1 to %d, not %d", CyclesMax, s.Cycles)
	}
	if err := s.faultsFit(); err != nil {
		return &UnfitFaultsError{err, s.lacks()}
	}
	return nil
}

// An UnfitFaultsError is the error of a scenario whose plan names a fault that cannot strike.
type UnfitFaultsError struct {
	error
	Needs faults.Need // what the scenario lacks, or ""
}

// lacks returns what the faults that the plan names need and the scenario does not have, or "".
func (s *Scenario) lacks() faults.Need {
	for k := range faults.Kinds {
		if s.Faults.Names(k) && !s.has(k.Needs()) {
			return k.Needs()
		}
	}
	return ""
}

// faultsFit returns an error if the plan names a fault that cannot strike in the scenario.
func (s *Scenario) faultsFit() error {
	if s.Faults.Any < 0 {
		return fmt.Errorf("the number of faults of any kind must not be negative, as %d is",
			s.Faults.Any)
	}
	for k := range faults.Kinds {
		if s.Faults.Of[k] < 0 {
			return fmt.Errorf("the number of faults %v must not be negative, as %d is", k,
				s.Faults.Of[k])
		}
		if s.Faults.Names(k) && !s.has(k.Needs()) {
			return fmt.Errorf("the fault %v needs %s", k, k.Needs())
		}
		if s.Faults.Names(k) && !s.Subject.Service.Supports(k) {
			return fmt.Errorf("the service of the lock %s has no fault %v", s.Subject.Name, k)
		}
	}
	if aim, ok := s.Faults.TimedInstant(); ok {
		_, timers := s.Subject.Service.New().(sim.Timers)
		switch {
		case !timers:
			return fmt.Errorf("the fault %v cannot strike: the service of the lock %s has no "+
				"such timer", aim, s.Subject.Name)
		case aim.Instant == faults.BeforePing && s.Client != Model:
			return fmt.Errorf("the fault %v needs %s: another client keeps its own time", aim,
				faults.ModelClient)
		}
	}
	clients := s.Clients
	if s.Faults.Allows(faults.Restart) {
		clients = sim.ClientsMax // Processes that join have the next numbers.
	}
	for _, aim := range s.Faults.Targeted {
		if err := aim.Fits(clients, max(1, s.Servers)); err != nil {
			return err
		}
	}
	return nil
}

// has reports whether the scenario has what a fault needs.
func (s *Scenario) has(need faults.Need) bool {
	switch need {
	case faults.SeveralServers:
		return s.Servers > 1
	case faults.ModelClient:
		return s.Client == Model
	case faults.RealClient:
		return s.Client.Library()
	}
	return true
}

// strikes reports whether faults of the kind may strike.
func (s *Scenario) strikes(kind faults.Kind) bool {
	return s.Faults.Allows(kind) && (s.Faults.Names(kind) || s.has(kind.NeedsInAny())) &&
		s.has(kind.Needs()) && s.Subject.Service.Supports(kind)
}

// StepCost returns how long a step takes; see [sim.Service].
func (s *Scenario) StepCost() int { return s.Subject.Service.StepCost(s.Client.Library()) }

// FaultKinds returns the kinds of faults that may strike: the plan allows them and the scenario has
// what they need.
func (s *Scenario) FaultKinds() []faults.Kind {
	var kinds []faults.Kind
	for kind := range faults.Kinds {
		if s.strikes(kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// Offers reports whether the scenario has what the condition needs.
func (s *Scenario) Offers(condition *history.Sometimes) bool {
	needed := condition.Clients
	if needed > 1 { // A process waits only while others have all further places.
		needed += max(1, s.Subject.Limits.Places) - 1
	}
	if s.Clients < needed {
		return false
	}
	for kind := range faults.Kinds {
		if kind.String() == condition.Fault {
			return s.strikes(kind)
		}
	}
	return condition.Fault == ""
}

// String describes the scenario in a line.
func (s *Scenario) String() string {
	return s.Subject.Name + ", " + s.Extent() + s.DescribeRest()
}

// Extent describes how many clients, threads, cycles and servers there are, and the faults.
func (s *Scenario) Extent() string {
	text := fmt.Sprintf("%d clients × ", s.Clients)
	if s.Threads > 1 {
		text += fmt.Sprintf("%d threads × ", s.Threads)
	}
	text += fmt.Sprintf("%d cycles, faults %v", s.Cycles, s.Faults)
	if s.Servers > 1 {
		text += fmt.Sprintf(", %d servers", s.Servers)
	}
	return text
}

// DescribeRest describes the severity and the client, each if it is not the default.
func (s *Scenario) DescribeRest() (text string) {
	if s.EffectiveSeverity() != faults.DefaultSeverity() {
		text += fmt.Sprintf(", %v", s.EffectiveSeverity())
	}
	if s.Client != Model {
		text += ", " + s.Client.String() + " client"
	}
	return text
}

// EffectiveSeverity returns how hard faults strike.
func (s *Scenario) EffectiveSeverity() faults.Severity {
	if s.Severity == (faults.Severity{}) {
		return faults.DefaultSeverity()
	}
	return s.Severity
}

// fairSteps returns how many steps the fair phase may take: far more than a lock needs in which
// every release wakes all, and few enough for a lock that sends for ever while time does not pass.
func (s *Scenario) fairSteps() int {
	contenders := s.Clients * max(1, s.Threads)
	return min(20_000+100*contenders*contenders*s.Cycles, 2_000_000)
}

// The bounds of a run.
const (
	// StepsMax ends the part of a run in which the strategy decides.
	StepsMax = 2000
	// idleTicksMax ends that part after so many ticks in a row in which nothing happened, and after
	// which only a tick or a fault is enabled. The last of them is a time jump.
	idleTicksMax = 16
	// tickMax is the longest duration of a tick that is not a time jump.
	tickMax = time.Second
	// timeJumpMax is the longest time jump. A process that does nothing for so long counts as
	// waiting for ever. All that a lock waits for happens sooner: [history.Progress] demands that
	// it returns within fairPhaseMax, and a pause lasts at most [faults.PauseMax]. A longer jump
	// costs locks that look every few milliseconds at a variable: each look takes real time.
	timeJumpMax = 10 * time.Minute
	// expiryNotice is how long after an expiry processes notice it in an exhaustive search, while
	// another is in its critical section: longer than locks wait between two attempts.
	expiryNotice = 10 * time.Second
	// fairPhaseMax is the virtual time in which a live process must get the lock in the fair phase,
	// from the end of the last pause: enough for the expiry of every dead session, one after the
	// other.
	fairPhaseMax = 60 * time.Second
	// settleBound is the virtual time that processes have to clean up after all have finished.
	settleBound = 15 * time.Second
	// teardownGrace is the virtual time that goroutines have to end after the run.
	teardownGrace = time.Minute
)
