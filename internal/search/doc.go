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
// A campaign asks strategy.Rounds for the strategy of each schedule number. In a run, its Choose
// picks one of the enabled steps; the default policy (engine/default_policy.go) names the usual
// one. The run notes where the strategy deviated: engine.Result.Deviations is the schedule, because
// all else follows from the policy. If the run fails, shrink.Shorten drops deviations, faults and
// processes as long as it fails in the same way. Recording.Write (show/recording) stores what is
// left as schedule.json, beside the timeline. To replay it, engine.Replay is a strategy that
// chooses the recorded deviations; the trace hash tells whether the run is the same.
package search
