//go:build interlock_scheduler

package scheduler

import _ "unsafe" // for the symbols that the runtime defines

// Enabled reports whether this program was built with the overlay.
const Enabled = true

// Begin controls the bubble of the calling goroutine until End. The calling goroutine itself, and
// the one that calls Next, run as they do without control.
func Begin() { begin() }

// Join puts the calling goroutine, and those that it and its timers start from now on, in a group.
// Goroutines of one group compete; the group 0 competes with all.
func Join(group int32) { join(uint32(group)) }

// Next waits until every goroutine of the bubble is durably blocked or held, and returns among how
// many there is to choose. Only one goroutine may call it.
func Next() (choices int, kind Kind) { return next() }

// Take lets the goroutine or the case with that index run.
func Take(choice int) { take(choice) }

// End ends the control of the bubble. Next then returns Done.
func End() { end() }

func begin()
func join(uint32)
func next() (int, Kind)
func take(int)
func end()
