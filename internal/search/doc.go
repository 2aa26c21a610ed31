// Package search groups what performs many runs of a scenario and looks for one that fails.
//
//   - strategy draws schedules; campaign runs many of them in parallel, in several configurations.
//   - exhaustive tries all schedules, with replay (runs from cached reactions), flat and stateset
//     (tables without pointers).
//   - shrink shortens a failing schedule, and likelihood says which of its decisions matter.
//   - shard divides a campaign; cmd/internal/workqueue gives the parts to machines.
//   - report holds what a search has found and tested.
//
// # The way of a schedule, from the strategy to the recording and back
//
// A campaign makes the strategy of each schedule number with a strategy.Factory; strategy.Rounds
// does so for strategies that learn from earlier schedules. In a run, Loop.run (engine/loop.go)
// asks its Choose for one of the enabled steps; the default policy (engine/default_policy.go) names
// the usual one. Loop.take notes where the strategy deviated: engine.Result.Deviations is the
// schedule, because all else follows from the policy. If the run fails (report.Failure),
// shrink.Shorten drops deviations, faults and processes as long as it fails in the same way.
// finding.write (cmd/interlock/finding.go) calls Counterexample.Write (show/recording), which makes
// a directory of what is left: schedule.json, by Recording.Write, and the timeline. To replay it,
// recording.Read returns the Recording, Recording.Scenario its scenario, and engine.Replay is a
// strategy that chooses the recorded deviations. If the trace hash is the same, so is the run
// (cmd/interlock/replay.go).
package search
