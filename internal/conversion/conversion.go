// Package conversion converts what users write into what the engine runs, for the packages of this
// module: the conversion is a method that package scenarios does not export.
package conversion

import "github.com/interlock-sim/interlock/internal/run/engine"

// Subject converts a scenarios.Subject, and Scenario a scenarios.Scenario. Package scenarios sets
// both.
var (
	Subject  func(subject any) engine.Subject
	Scenario func(scenario any) engine.Scenario
)
