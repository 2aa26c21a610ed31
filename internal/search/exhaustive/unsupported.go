package exhaustive

import (
	"fmt"

	"github.com/interlock-sim/interlock/scenarios"
)

// Unsupported returns an error if a plan restricts a fault to an instant: time passes to deadlines
// and never stops just before them, and the reductions do not know that such a fault depends on
// whether a request has been handled. It also returns one if a run has fewer faults than the plan
// allows, because entries overlap.
func Unsupported(s *scenarios.Scenario) error {
	if fault, ok := s.Faults.Instant(); ok {
		return fmt.Errorf("an exhaustive search knows no instants, as in %v=%d: name a phase, or "+
			"use another strategy", fault, fault.Left)
	}
	if one, other, ok := s.Faults.Overlap(); ok {
		return fmt.Errorf("an exhaustive search needs plans in which a fault counts as one entry, "+
			"and some faults are of both %v and %v: leave one of them out", one, other)
	}
	return nil
}
