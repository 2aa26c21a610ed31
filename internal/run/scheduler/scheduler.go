// Package scheduler makes the order in which the goroutines of a bubble run, and the case that a
// select takes, decisions of the caller.
//
// The Go runtime makes these decisions by chance. A program that is built with the overlay of
// package overlay, and with the build tag interlock_scheduler, holds a goroutine of the bubble that
// becomes runnable until [Next] has returned it and [Take] has chosen it. So at most one goroutine
// of the bubble runs at a time, from one blocking operation to the next, on any number of
// processors.
package scheduler

// A Kind says what is to be chosen.
type Kind int

// The kinds of choices.
const (
	Done  Kind = iota // nothing: the bubble is no longer controlled
	Wake              // the goroutine that runs next, in the order in which they became runnable
	Cases             // the case that a select takes, among those that are ready: sends first
)
