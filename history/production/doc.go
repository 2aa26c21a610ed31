// Package production judges histories of locks in production, whose processes have clocks of their
// own.
//
// A file for each process becomes one history in these steps, as interlock verify takes them:
// [NumberProcesses] gives each start of a process a number, and [Merge] orders the events by their
// times. [AllWithin] divides the history by lock ([ByLock]) and decides one of [WithinClocks]. It
// reports only what no true times within the uncertainty of the [Clocks] allow. [Untimed] and
// [Locks] tell what of a history it cannot judge.
//
// The statements of the properties and the reasons of violations are those of package check, which
// judges the histories of simulations: their processes have one clock.
package production
