// Package check decides properties of a history, which a simulation has recorded.
//
// Each property is in a file of its name: its checker or monitor, a pure function of the events.
// propertyTable has a row for it, from which [Properties], [Statement], [Vacuity] and all other
// lists derive. A [Checker] decides properties of a whole history, and a [Monitor] event by event,
// for a search that goes back and compares states. Most monitors read the queue of the lock
// ([history.Queue]): who waits and who holds, by which nodes.
//
// Package guarantee, below this one, decides what the service itself guarantees; guarantees.go
// brings it into the table. Package production, above, judges histories of services, whose clocks
// differ.
package check
