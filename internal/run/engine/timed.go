package engine

import (
	"errors"
	"time"

	"github.com/interlock-sim/interlock/history"
)

// errTimedPanic is the outcome of a call with a time limit that panics.
var errTimedPanic = errors.New("the call panicked")

// Forfeit implements [sim.CallRecorder].
func (p *Process) Forfeit() {
	p.progress.Add(1) // before it reads the stage
	if p.Stage == locking && !p.stopped() {
		p.record(history.Event{Kind: history.Forfeited}, locking)
	}
}

// Timed makes a call with a time limit, within a call of Lock, and records it for
// [history.Promptness]. It must run on the goroutine of that call.
func (p *Process) Timed(limit time.Duration, call func() error) error {
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
