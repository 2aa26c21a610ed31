package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/base/unknown"
	"github.com/interlock-sim/interlock/sim"
)

// A Subject is a lock under test.
type Subject struct {
	Name    string
	Summary string // one line for lists
	// Claims are the properties that the lock promises. No other property is checked, except those
	// that hold for every lock: no process panics, no goroutine outlives the run, and ZooKeeper
	// keeps its promises. [history.QueueLock] and its siblings are common choices.
	Claims []history.Property
	// Severity is the contract: how long pauses may last and how far clocks may drift before the
	// lock no longer promises [history.ClientMutualExclusion]. Default: [faults.DefaultSeverity].
	Severity faults.Severity
	// Service is what the lock uses. Default: ZooKeeper. The processes of a lock on another service
	// use it by [Process.Handle].
	Service sim.Service
	// Servers is how many servers the lock needs. Default: 1.
	Servers int
	// Real says that the lock needs a *zk.Conn, so that it runs only with the real client.
	Real bool
	// Sequence is the number of the first sequential znode in the lock's directory. A lock that is
	// tested across the overflow of sequence numbers, 2^31-1, starts a little below it.
	Sequence int32
	// Limits bound what the lock may cost. Default: [history.DefaultLimits].
	Limits history.Limits
	// OneThread says that what Open returns is for one thread: a scenario must not have several.
	OneThread bool
	// Places is how many processes may hold the lock at once, as of a semaphore. Default: 1.
	Places int
	// Shared reports whether an attempt of a process, both from 1, shares the lock with others that
	// do, as a reader. The handle on such a lock is a [SharedLocker]. Default: none does.
	Shared func(process, attempt int) bool
	// Guard says how the resource checks the holders that use it. Default: no resource is used.
	Guard Guard
	// Sometimes are conditions that at least one schedule of a campaign must reach; otherwise the
	// campaign has not tested the lock.
	Sometimes []history.Sometimes
	// Distinguish, if set, returns what tells a violation in a run from others for the same reason,
	// or "". It is appended to the reason, so that searches gather and shrink each kind.
	Distinguish func(*history.Violation, []history.Event) string

	// Open gives a process its handle on the lock. Each process of each run calls it once, in its
	// own goroutine. If it fails after a fault has struck, the process gives up, with a failed
	// attempt; otherwise the error is a mistake in the scenario.
	Open func(*Process) (Locker, error)
}

// Claimed reports whether the lock claims the property, its service guarantees it, or every lock
// must have it.
func (s *Subject) Claimed(p history.Property) bool {
	for _, claim := range s.Claims {
		if claim == p {
			return true
		}
	}
	return p == history.NoPanic || p == history.NoGoroutineLeak ||
		slices.Contains(s.Guarantees(), p)
}

// Guarantees returns the properties that the service guarantees.
func (s *Subject) Guarantees() []history.Property {
	if guarantor, ok := s.EffectiveService().(sim.Guarantor); ok {
		return guarantor.Guarantees()
	}
	return nil
}

// validate returns an error that names the wrong field and what it should be, or nil.
func (s *Subject) validate() error {
	switch {
	case s.Open == nil:
		return errors.New("the scenario has no lock to test: set Subject.Open")
	case s.Sequence < 0:
		return fmt.Errorf("the first sequential node of the lock %s cannot have the number %d",
			s.Name, s.Sequence)
	case s.Name == "" || strings.ContainsAny(s.Name, `/\`):
		return fmt.Errorf("the name of the lock, %q, must not be empty or hold a slash", s.Name)
	case len(s.Claims) == 0:
		return fmt.Errorf("the lock %s claims no property, so there is nothing to check: "+
			"set Subject.Claims to some of %v", s.Name, check.Claimable())
	case s.Guard > TokenChecked:
		return fmt.Errorf("the lock %s has an unknown guard %d", s.Name, s.Guard)
	case s.Places < 0 || s.Places > 1 && s.Shared != nil:
		return fmt.Errorf("the lock %s has %d places: set Subject.Places to at least 1, and to 1 "+
			"if attempts share the lock", s.Name, s.Places)
	case s.Limits.Places != 0:
		return fmt.Errorf("the lock %s has Subject.Limits.Places, which is not used: "+
			"set Subject.Places", s.Name)
	case s.Places > 1 && s.Guard != NoResource:
		return fmt.Errorf("the lock %s has %d places, so that its holders may write a resource in "+
			"any order: remove Subject.Guard", s.Name, s.Places)
	}
	for _, claim := range s.Claims {
		if !slices.Contains(check.Claimable(), claim) {
			return fmt.Errorf("the lock %s claims an %w", s.Name,
				unknown.Name("property", string(claim), check.Claimable()))
		}
		if s.Places > 1 && (claim == history.Fencing || claim == history.NoLostUpdate) {
			return fmt.Errorf("the lock %s has %d places, so that its holders may write a "+
				"resource in any order, and cannot claim %s", s.Name, s.Places, claim)
		}
	}
	for _, condition := range s.Sometimes {
		if condition.Reached == nil {
			return fmt.Errorf("the sometimes condition %[2]q of the lock %[1]s has no Reached",
				s.Name,
				condition.Name)
		}
	}
	return nil
}

// EffectiveLimits returns the limits that the lock is judged by.
func (s *Subject) EffectiveLimits() history.Limits {
	limits := s.Limits
	if limits == (history.Limits{}) {
		limits = history.DefaultLimits
	}
	limits.Places = s.Places
	return limits
}

// Parties returns how many processes a barrier needs, or 0 if the lock is none.
func (s *Subject) Parties() int {
	if !s.Claimed(history.NoEarlyPass) {
		return 0
	}
	limits := s.EffectiveLimits()
	return limits.EffectivePlaces()
}

// Shares reports whether an attempt of a process shares the lock.
func (s *Subject) Shares(process int, attempt int32) bool {
	return s.Shared != nil && s.Shared(process, int(attempt))
}
