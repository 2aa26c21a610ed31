package sim

import (
	"context"
	"time"
)

// A CallRecorder records what the code of a process does within its calls of the lock.
type CallRecorder interface {
	// Timed makes a call that gives up by itself when its time is over, and returns its error.
	Timed(limit time.Duration, call func() error) error
	// Forfeit records that the process gives up its place in the queue.
	Forfeit()
}

type callRecorderKey struct{}

// WithCallRecorder returns a context for the calls of a process, which ends with the given one.
func WithCallRecorder(ctx context.Context, recorder CallRecorder) context.Context {
	return context.WithValue(ctx, callRecorderKey{}, recorder)
}

// CallRecorderOf returns the recorder of a context, and false if the context is not of a run.
func CallRecorderOf(ctx context.Context) (CallRecorder, bool) {
	recorder, ok := ctx.Value(callRecorderKey{}).(CallRecorder)
	return recorder, ok
}
