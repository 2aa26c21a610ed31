package history

import (
	"fmt"
	"slices"
)

const (
	reasonLockStuck   = "a process waits for the lock for ever"
	reasonUnlockStuck = "a process waits for its unlock for ever"
)

// A pendingCall is a call that has not returned.
type pendingCall struct {
	kind    Kind // LockCall or UnlockCall
	process int32
	attempt int32
	index   int
}

// CheckProgress decides [Progress]: once no faults come any more, every process gets an answer.
// Whether the answer is the lock, [CheckNoSpuriousFailure] decides.
//
// The property holds if the history has no Liveness event, for then nothing was promised, or if at
// its end every call of Lock and of Unlock by a process that has not crashed has returned. The
// history must have been run until nothing could happen any more; of one that was cut short the
// checker would speak too soon. A violation names the oldest call that is left.
//
// It takes time linear in the events, times the number of calls that are open at once.
func CheckProgress(events []Event) *Violation {
	return decide(Progress, new(progressMonitor),
		events)
}

type progressMonitor struct {
	calls   []pendingCall // that have not returned, the oldest first
	judged  bool          // the Liveness event has come
	crashed []int32
}

func (m *progressMonitor) reset() {
	m.calls, m.judged, m.crashed = m.calls[:0], false, m.crashed[:0]
}

func (m *progressMonitor) copy(from monitor) {
	other := from.(*progressMonitor)
	m.calls, m.judged, m.crashed = append(m.calls[:0], other.calls...), other.judged,
		append(m.crashed[:0], other.crashed...)
}

// state does not depend on which call is the oldest: that decides which one a violation names.
func (m *progressMonitor) state(_ *queue, s *State) {
	open := uint64(0)
	for i := range m.calls {
		c := &m.calls[i]
		if !slices.Contains(m.crashed, c.process) {
			open += scatter(uint64(uint32(c.process))<<32 | uint64(uint32(c.attempt))<<8 | uint64(c.kind))
		}
	}
	s.fold(open, bit(m.judged, 0))
}

// visible: in what order calls return makes no difference.
func (m *progressMonitor) visible(*queue, *Event) bool { return false }

func (m *progressMonitor) observe(_ *queue, log []Event, i int) *Violation {
	e := &log[i]
	switch e.Kind {
	case LockCall, UnlockCall:
		m.calls = append(m.calls, pendingCall{e.Kind, e.Process, e.Attempt, i})
	case LockReturn:
		m.calls = withoutCall(m.calls, LockCall, e)
	case UnlockReturn:
		m.calls = withoutCall(m.calls, UnlockCall, e)
	case FairPhase:
		m.judged = true
	case Crashed:
		m.crashed = append(m.crashed, e.Process)
	}
	return nil
}

func (m *progressMonitor) finish(*queue, []Event) *Violation {
	if !m.judged {
		return nil
	}
	for _, c := range m.calls {
		if slices.Contains(m.crashed, c.process) {
			continue
		}
		reason := reasonLockStuck
		if c.kind == UnlockCall {
			reason = reasonUnlockStuck
		}
		return &Violation{
			Property: Progress, Event: c.index, Reason: reason,
			Detail: fmt.Sprintf("c%d: %v of attempt %d never returned", c.process, c.kind,
				c.attempt),
		}
	}
	return nil
}

// withoutCall removes the call that e answers. It keeps the order, so that the oldest stays first.
func withoutCall(calls []pendingCall, kind Kind, e *Event) []pendingCall {
	for c := range calls {
		if calls[c].kind == kind && calls[c].process == e.Process && calls[c].attempt == e.Attempt {
			return append(calls[:c], calls[c+1:]...)
		}
	}
	return calls
}
