package engine

import (
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// A FlightRecorder notes the decisions of the run under way where they survive the program. A
// runner calls its methods one after the other.
type FlightRecorder interface {
	// Begin begins a run of the scenario. The number is that of [Runner.Schedule].
	Begin(scenario *scenarios.Scenario, schedule int)
	// Resume continues from a state that the deviations lead to.
	Resume(deviations []Deviation)
	// Decide notes a decision before its step is performed. Index is its number in the run.
	Decide(index int, step sim.Step, deviates bool)
	// Judge says that the goroutines of the run have ended.
	Judge()
	// End ends the run.
	End()
}

// NewFlightRecorder makes the flight recorder of each new runner, if it is set before a search
// begins. A program that may be killed by the lock under test sets it.
var NewFlightRecorder func() FlightRecorder

// A noRecorder records nothing.
type noRecorder struct{}

func (noRecorder) Begin(*scenarios.Scenario, int) {}
func (noRecorder) Resume([]Deviation)             {}
func (noRecorder) Decide(int, sim.Step, bool)     {}
func (noRecorder) Judge()                         {}
func (noRecorder) End()                           {}

// newRecorder returns the flight recorder of a new runner.
func newRecorder() FlightRecorder {
	if NewFlightRecorder == nil {
		return noRecorder{}
	}
	return NewFlightRecorder()
}
