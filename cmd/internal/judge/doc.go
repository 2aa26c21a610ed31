// Package judge searches locks. A [Search] runs, and shows its [Progress]; [Shrink] yields the
// counterexamples of its report, and [Measured] adds up what several have measured. The commands
// check, report-card, certify, bugs and hunt differ in the searches that they plan, and in what
// they write. Below are those that search many locks:
//
//   - reportcard judges published locks; trackrecord measures how soon known defects are found.
//   - hunt searches many locks in turns, for as long as it may.
//   - certify runs the searches of a plan, and compares a changed lock with the one before.
//   - costs counts the requests of locks.
//
// # The way of a property, from the table to the report
//
// A row of history/check/property_table.go names the property and its monitor or check. A lock
// claims it (scenarios.Subject.Claims). Runner.judgeHistory (run/engine/runner.go) passes the
// history of a run to the checker; a history.Violation that it returns makes the run fail, unless
// it is out of the lock's contract (run/engine/contract.go). The generator of the property in
// history/explain tells from the violation's Evidence who did what. A report shows that text, the
// property's statement, and how often histories exercised it.
package judge
