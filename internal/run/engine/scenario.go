package engine

import (
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
)

// StepCost returns how long a step takes; see [sim.Service].
func StepCost(s *scenarios.Scenario) int {
	return s.Subject.EffectiveService().StepCost(s.Client.Library())
}

// Offers reports whether the scenario has what the condition needs.
func Offers(s *scenarios.Scenario, condition *history.Sometimes) bool {
	needed := condition.Clients
	if needed > 1 { // A process waits only while others have all further places.
		limits := s.Subject.EffectiveLimits()
		needed += limits.EffectivePlaces() - 1
	}
	if s.Clients < needed {
		return false
	}
	for kind := range faults.Kinds {
		if kind.String() == condition.Fault {
			return s.Strikes(kind)
		}
	}
	return condition.Fault == ""
}

// fairSteps returns how many steps the fair phase may take: far more than a lock needs in which
// every release wakes all, and few enough for a lock that sends for ever while time does not pass.
func fairSteps(s *scenarios.Scenario) int {
	contenders := s.Clients * s.EffectiveThreads()
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
