// Package judge searches locks. A [Search] runs, and shows its [Progress]; [Shrink] yields the
// counterexamples of its report, and [Measured] adds up what several have measured. The commands
// check, report-card, certify, bugs and hunt differ in the searches that they plan, and in what
// they write. The packages below search many locks:
//
//   - reportcard judges published locks; trackrecord measures how soon known defects are found.
//   - hunt searches many locks in turns, for as long as it may.
//   - certify runs the searches of a plan, and compares a changed lock with the one before.
//   - costs counts the requests of locks.
package judge
