package scenarios

import (
	"context"
	"time"

	"github.com/interlock-sim/interlock/sim"
)

// Timed makes a call that gives up by itself when its time is over, such as one with a timeout, or
// at once if the limit is 0, such as a TryLock. If the lock claims [history.Promptness], the call
// must return then: it may wait for replies, and otherwise as long as Overrun of [history.Limits].
// A negative limit counts as 0. Timed returns the call's error. It is for a [Locker] whose Lock
// consists of such calls: ctx is the context of Lock, and the call runs on the goroutine of Lock.
//
// The calls of a process must come one after the other: they must not nest, nor run at the same
// time. With a context that is not of a run, Timed only makes the call.
func Timed(ctx context.Context, limit time.Duration, call func() error) error {
	if recorder, simulated := sim.CallRecorderOf(ctx); simulated {
		return recorder.Timed(limit, call)
	}
	return call()
}
