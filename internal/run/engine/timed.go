package engine

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-sim/interlock/history"
)

// processKey is the key of the process in the contexts of its calls.
type processKey struct{}

// within returns a context for the calls of the process, which ends with the given one.
func (p *Process) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, processKey{}, p)
}

// errTimedPanic is the outcome of a call with a time limit that panics.
var errTimedPanic = errors.New("the call panicked")

// Timed makes a call with a time limit, within a call of [Locker.Lock] with the context, and
// records it for [history.Promptness]. It must run on the goroutine of that call.
func Timed(ctx context.Context, limit time.Duration, call func() error) error {
	p, simulated := ctx.Value(processKey{}).(*Process)
	if !simulated {
		return call()
	}
	p.record(history.Event{Kind: history.TimedCall, Validity: max(limit, 0)}, p.Stage)
	returned := false
	defer func() {
		if !returned && !p.stopped() {
			p.record(outcome(history.TimedReturn, errTimedPanic), p.Stage)
		}
	}()
	err := call()
	returned = true
	p.record(outcome(history.TimedReturn, err), p.Stage)
	return err
}
