package history

import (
	"fmt"
	"slices"
)

const reasonRefused = "Lock failed for a process that still wanted the lock"

// cancelName is the name of the Fault by which a process gives up its attempt.
const cancelName = "cancel"

// CheckNoSpuriousFailure decides [NoSpuriousFailure]: a lock that is asked for is granted, however
// often the connection or the session is lost meanwhile.
//
// The property holds if Lock returns an error only to a process that has given up that attempt,
// which a Fault named "cancel" records. Together with [CheckProgress] it says that whoever asks for
// the lock and does not give up gets it.
//
// It takes time linear in the events, times the number of processes that have given up.
func CheckNoSpuriousFailure(events []Event) *Violation {
	return decide(NoSpuriousFailure, new(failureMonitor), events)
}

type failureMonitor struct {
	cancelled []int32 // the processes that have given up the attempt that is under way
}

func (m *failureMonitor) reset() { m.cancelled = m.cancelled[:0] }

func (m *failureMonitor) copy(from monitor) {
	m.cancelled = append(m.cancelled[:0], from.(*failureMonitor).cancelled...)
}

func (m *failureMonitor) finish(*queue, []Event) *Violation { return nil }

func (m *failureMonitor) state(_ *queue, s *State) { s.foldProcesses(m.cancelled) }

// visible: only what the process itself has done counts.
func (m *failureMonitor) visible(*queue, *Event) bool { return false }

func (m *failureMonitor) observe(_ *queue, log []Event, i int) *Violation {
	e := &log[i]
	switch {
	case e.Kind == LockCall:
		m.cancelled = withoutProcess(m.cancelled, e.Process)
	case e.Kind == Fault && e.Name == cancelName:
		m.cancelled = append(withoutProcess(m.cancelled, e.Process), e.Process)
	case e.Kind == LockReturn && e.Err != "" && !slices.Contains(m.cancelled, e.Process):
		return &Violation{
			Property: NoSpuriousFailure, Event: i, Reason: reasonRefused,
			Detail: fmt.Sprintf("c%d was told %q in attempt %d", e.Process, e.Err, e.Attempt),
		}
	}
	return nil
}
