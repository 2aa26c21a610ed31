package sim

import (
	"context"
	"time"
)

// A CallTimer records the calls of a process that have a time limit.
type CallTimer interface {
	// Timed makes a call that gives up by itself when its time is over, and returns its error.
	Timed(limit time.Duration, call func() error) error
}

type callTimerKey struct{}

// WithCallTimer returns a context for the calls of a process, which ends with the given one.
func WithCallTimer(ctx context.Context, timer CallTimer) context.Context {
	return context.WithValue(ctx, callTimerKey{}, timer)
}

// CallTimerOf returns the timer of a context, and false if the context is not of a run.
func CallTimerOf(ctx context.Context) (CallTimer, bool) {
	timer, ok := ctx.Value(callTimerKey{}).(CallTimer)
	return timer, ok
}
