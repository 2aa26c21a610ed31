package engine

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/interlock-sim/interlock/history"
)

// errTimedPanic is the outcome of a call with a time limit that panics.
var errTimedPanic = errors.New("the call panicked")

// Forfeit implements [sim.CallRecorder]. Any goroutine may call it, beside the process.
func (p *Process) Forfeit() {
	atomic.StoreInt32(&p.forfeits, 1)
	p.publish()
}

// noteForfeit adds the event of a Forfeit. A call of Lock that has returned by now may have done so
// before or after it, so there is none then. The process must be blocked.
func (p *Process) noteForfeit() {
	if atomic.LoadInt32(&p.forfeits) == 0 {
		return
	}
	atomic.StoreInt32(&p.forfeits, 0)
	if p.Stage == locking && !p.stopped() {
		p.Pending = append(p.Pending, history.Event{
			Kind: history.Forfeited, Process: int32(p.Number), Attempt: p.Attempt,
		})
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
