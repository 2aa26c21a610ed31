package history

import "fmt"

const (
	reasonLockStuck   = "a process waits for the lock for ever"
	reasonUnlockStuck = "a process waits for its unlock for ever"
)

// A pending is a call that has not returned.
type pending struct {
	kind    Kind // LockCall or UnlockCall
	process int32
	attempt int32
	index   int
}

// CheckProgress decides [Progress]: once no faults come any more, every process gets an answer. Whether the answer
// is the lock, [CheckNoRefusal] decides.
//
// The property holds if the history has no Liveness event, for then nothing was promised, or if at its end every call of
// Lock and of Unlock by a process that has not crashed has returned. The history must have been run until nothing
// could happen any more; of one that was cut short the checker would speak too soon. A violation names the oldest call
// that is left.
//
// It takes time linear in the events, times the number of calls that are open at once.
func CheckProgress(events []Event) *Violation {
	var space [12]pending
	calls, judged := space[:0], false
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case LockCall, UnlockCall:
			calls = append(calls, pending{e.Kind, e.Process, e.Attempt, i})
		case LockReturn:
			calls = withoutCall(calls, LockCall, e)
		case UnlockReturn:
			calls = withoutCall(calls, UnlockCall, e)
		case Liveness:
			judged = true
		}
	}
	if !judged {
		return nil
	}
	for _, c := range calls {
		if hasCrashed(events, c.process) {
			continue
		}
		reason := reasonLockStuck
		if c.kind == UnlockCall {
			reason = reasonUnlockStuck
		}
		return &Violation{
			Property: Progress, Event: c.index, Reason: reason,
			Detail: fmt.Sprintf("c%d: %v of attempt %d never returned", c.process, c.kind, c.attempt),
		}
	}
	return nil
}

// withoutCall removes the call that e answers. It keeps the order, so that the oldest stays first.
func withoutCall(calls []pending, kind Kind, e *Event) []pending {
	for c := range calls {
		if calls[c].kind == kind && calls[c].process == e.Process && calls[c].attempt == e.Attempt {
			return append(calls[:c], calls[c+1:]...)
		}
	}
	return calls
}
