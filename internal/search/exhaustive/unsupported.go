package exhaustive

import (
	"fmt"

	"github.com/interlock-sim/interlock/scenarios"
)

// Unsupported returns an error if a plan restricts a fault to an instant: time passes to deadlines
// and never stops just before them, and the reductions do not know that such a fault depends on
// whether a request has been handled.
func Unsupported(s *scenarios.Scenario) error {
	if fault, ok := s.Faults.Instant(); ok {
		return fmt.Errorf("an exhaustive search knows no instants, as in %v=%d: name a phase, or "+
			"use another strategy", fault, fault.Left)
	}
	return nil
}
