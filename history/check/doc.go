// Package check decides properties of a history, which a simulation has recorded.
//
// Each property of a lock is in a file of its name: its checker or monitor, a pure function of the
// events. propertyTable has a row for it, from which [Properties], [Statement], [Vacuity] and all
// other lists derive. A [Checker] decides properties of a whole history, and a [Monitor] event by
// event, for a search that goes back and compares states. Most monitors read the queue of the lock
// ([history.Queue]): who waits and who holds, by which nodes.
//
// Package guarantee, below this one, decides what the service itself guarantees; guarantees.go
// brings it into the table. Package production, above, judges histories of services, whose clocks
// differ.
//
// # The way of a property, from the table to the report
//
// A row of history/check/property_table.go names the property and its monitor or check. A lock
// claims it (scenarios.Subject.Claims). Runner.judgeHistory (run/engine/runner.go) passes the
// history of a run to [Checker.CheckAll]; a history.Violation that it returns makes the run fail,
// unless it is out of the lock's contract (run/engine/contract.go). An exhaustive search asks a
// [Monitor] instead, whose state is part of the key of each state. (Runner.check measures no-herd
// with the costs.) The generator of the property in history/explain tells from the violation's
// Evidence who did what. A report shows that text and the property's statement
// (cmd/interlock/finding.go), and how often histories exercised it (report.go).
package check
