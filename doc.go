// Package interlock searches the interleavings of a distributed lock for one that breaks what the
// lock promises. The lock's code runs unchanged against a simulated ZooKeeper, Redis or database.
//
// A [scenarios.Scenario] says which lock, how many processes and which faults. [Check],
// [CheckRapid] and [Fuzz] search for a schedule that violates a property that the lock claims,
// shrink it, and record it; [Replay] runs a recorded one again.
package interlock
