package check

import (
	"fmt"
	"slices"

	"github.com/interlock-sim/interlock/history"
)

const reasonRefused = "Lock failed for a process that still wanted the lock"

// cancelName is the name of the Fault that cancels an attempt.
const cancelName = "cancel"

// NoSpuriousFailure decides [history.NoSpuriousFailure]: Lock returns an error only in an attempt
// that its process has cancelled, however often the connection or the session is lost.
//
// An event of the property is a LockReturn with an error. A Fault named "cancel" has struck the
// process since its LockCall.
//
// The property does not cover a Lock that never returns, which is covered by [Progress]. The two
// properties together imply that every attempt that is not cancelled is granted the lock.
//
// The check takes time linear in the events, times the number of processes that have cancelled.
func NoSpuriousFailure(events []history.Event) *history.Violation {
	return decide(history.NoSpuriousFailure, new(failureMonitor), events)
}

type failureMonitor struct {
	cancelled []int32 // the processes that have cancelled their open attempts
}

func (m *failureMonitor) reset() { m.cancelled = m.cancelled[:0] }

func (m *failureMonitor) copy(from monitor) {
	m.cancelled = append(m.cancelled[:0], from.(*failureMonitor).cancelled...)
}

func (m *failureMonitor) finish([]history.Event) *history.Violation { return nil }

func (m *failureMonitor) state(_ *queue, s *State) { s.foldProcesses(m.cancelled) }

// freedom: only events of the process itself matter.
func (m *failureMonitor) freedom(*queue, *history.Event) freedom { return anywhere }

func (m *failureMonitor) observe(_ *queue, log []history.Event, i int) *history.Violation {
	e := &log[i]
	switch {
	case e.Kind == history.LockCall:
		m.cancelled = withoutProcess(m.cancelled, e.Process)
	case e.Kind == history.Fault && e.Name == cancelName:
		m.cancelled = append(withoutProcess(m.cancelled, e.Process), e.Process)
	case e.Kind == history.LockReturn && e.Err != "" && !slices.Contains(m.cancelled, e.Process):
		return &history.Violation{
			Property: history.NoSpuriousFailure, Event: i, Reason: reasonRefused,
			Detail: fmt.Sprintf("Lock returned %[2]q to c%[1]d in attempt %[3]d", e.Process, e.Err,
				e.Attempt),
			Evidence: history.Evidence{Process: e.Process},
		}
	}
	return nil
}
