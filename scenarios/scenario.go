package scenarios

import (
	"fmt"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
)

// A Scenario is what is run: so many processes, each of which takes the lock, stays in its critical
// section for as long as the schedule says, and gives the lock back, so many times.
type Scenario struct {
	Subject  Subject
	Clients  int             // how many processes
	Cycles   int             // how often each takes the lock
	Faults   faults.Plan     // how many faults a run may see
	Client   ClientKind      // the client library that they use
	Severity faults.Severity // how hard they strike; the default ones unless set
	// how many servers the ensemble has; 1 unless set. Of several, those that do not lead lag
	// behind
	Servers int
}

// The bounds of a scenario. They keep a single schedule within some seconds.
const (
	ClientsMax = 100
	CyclesMax  = 100
	ServersMax = 7
)

// Validate returns an error that names the field that is out of bounds, or nil.
func (s *Scenario) Validate() error {
	if err := s.Subject.validate(); err != nil {
		return err
	}
	switch {
	case s.Client > Real:
		return fmt.Errorf("there is no client %d: Scenario.Client is scenarios.Model or "+
			"scenarios.Real",
			s.Client)
	case s.Subject.Real && s.Client != Real:
		return fmt.Errorf("the lock %s works on a *zk.Conn: it needs the real client, Client: "+
			"scenarios.Real in the scenario", s.Subject.Name)
	case s.Servers < 0 || s.Servers > ServersMax:
		return fmt.Errorf("servers must be from 1 to %d, not %d", ServersMax, s.Servers)
	case s.Severity != faults.Severity{} && s.Severity.Validate() != nil:
		return s.Severity.Validate()
	case s.Clients < 1 || s.Clients > ClientsMax:
		return fmt.Errorf("clients must be from 1 to %d, not %d", ClientsMax, s.Clients)
	case s.Cycles < 1 || s.Cycles > CyclesMax:
		return fmt.Errorf("cycles must be from 1 to %d, not %d", CyclesMax, s.Cycles)
	}
	return s.faultsFit()
}

// faultsFit returns an error if the plan asks by name for a fault that cannot strike in the
// scenario, or nil.
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
	}
	clients := s.Clients
	if s.Faults.Allows(faults.Restart) {
		clients = ClientsMax // Newcomers have the next numbers.
	}
	for _, aim := range s.Faults.Targeted {
		if err := aim.Fits(clients, max(1, s.Servers)); err != nil {
			return err
		}
	}
	return nil
}

// has tells whether the scenario has what a fault needs.
func (s *Scenario) has(need faults.Need) bool {
	switch need {
	case faults.SeveralServers:
		return s.Servers > 1
	case faults.ModelClient:
		return s.Client == Model
	case faults.RealClient:
		return s.Client == Real
	}
	return true
}

// FaultKinds returns the kinds of faults that may strike in a run: the plan allows them, and the
// scenario has what they need.
func (s *Scenario) FaultKinds() []faults.Kind {
	var kinds []faults.Kind
	for kind := range faults.Kinds {
		if s.Faults.Allows(kind) && s.has(kind.Needs()) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// offers tells whether the scenario has what a goal takes.
func (s *Scenario) offers(goal *history.Sometimes) bool {
	if s.Clients < goal.Clients {
		return false
	}
	for kind := range faults.Kinds {
		if kind.String() == goal.Fault {
			return s.Faults.Allows(kind) && s.has(kind.Needs())
		}
	}
	return goal.Fault == ""
}

// String describes the scenario in a line.
func (s *Scenario) String() string {
	text := fmt.Sprintf("%s, %d clients × %d cycles, faults %v", s.Subject.Name, s.Clients,
		s.Cycles,
		s.Faults)
	if s.Servers > 1 {
		text += fmt.Sprintf(", %d servers", s.Servers)
	}
	if s.severity() != faults.DefaultSeverity() {
		text += fmt.Sprintf(", %v", s.severity())
	}
	if s.Client != Model {
		text += ", " + s.Client.String() + " client"
	}
	return text
}

// severity returns how hard faults strike.
func (s *Scenario) severity() faults.Severity {
	if s.Severity == (faults.Severity{}) {
		return faults.DefaultSeverity()
	}
	return s.Severity
}

// lockDirectory is the znode under which the contenders of a run make their nodes.
const lockDirectory = "/lock"

// fairSteps is how many steps a run may take once there are no faults any more: far more than a
// lock needs in which every release wakes all, and few enough for one that sends for ever while
// time stands still.
func (s *Scenario) fairSteps() int {
	return min(20_000+100*s.Clients*s.Clients*s.Cycles, 2_000_000)
}

// What bounds a run.
const (
	// stepsMax ends the part of a run in which the strategy decides.
	stepsMax = 2000
	// idleTicksMax ends it after so many ticks in a row in which nothing happened, and after which
	// nothing but a tick or a fault can. The last of them leaps to the next timer of a process.
	idleTicksMax = 16
	// tickMax is the longest time that one tick lets pass, unless it leaps.
	tickMax = time.Second
	// timeJumpMax is how far time leaps at most. A process that does nothing for so long is taken
	// to wait for ever.
	timeJumpMax = 100 * time.Hour
	// fairPhaseMax is how much virtual time a live process has to get the lock, once there are no
	// faults any more: the expiry of every dead session, one after the other, with room to spare.
	fairPhaseMax = 60 * time.Second
	// settleBound is how much virtual time the processes have to tidy up behind themselves once all
	// have finished.
	settleBound = 15 * time.Second
	// teardownGrace is how much virtual time goroutines have to end once the run is over.
	teardownGrace = time.Minute
)
