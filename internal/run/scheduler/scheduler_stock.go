//go:build !interlock_scheduler

package scheduler

// Enabled reports whether this program was built with the overlay.
const Enabled = false

// Begin is never called.
func Begin() { panic("scheduler: built without the overlay") }

// Join does nothing.
func Join(group int32) {}

// Next is never called.
func Next() (choices int, kind Kind) { panic("scheduler: built without the overlay") }

// Take is never called.
func Take(int) { panic("scheduler: built without the overlay") }

// End is never called.
func End() { panic("scheduler: built without the overlay") }
