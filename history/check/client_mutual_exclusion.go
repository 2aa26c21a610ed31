package check

import (
	"fmt"

	"github.com/interlock-sim/interlock/history"
)

const reasonTwoInside = "a process entered its critical section while another was inside"

// ClientMutualExclusion decides [history.ClientMutualExclusion]: at most one process at a time is
// in the critical section without knowing that it has lost the lock.
//
// An event of the property is an Enter. A process is inside from its Enter until a Leave, a Lost or
// a Crashed event. The property holds if no process enters while another is inside.
//
// The property does not cover a process that has been notified of its loss and has not left yet:
// what it does then is not the fault of the lock.
//
// The check takes time linear in the events, and keeps one process: a second one inside is a
// violation.
func ClientMutualExclusion(events []history.Event) *history.Violation {
	return decide(history.ClientMutualExclusion, new(clientExclusionMonitor), events)
}

type clientExclusionMonitor struct {
	inside int32 // the process that is inside, or 0
	since  int   // the index of its Enter
}

func (m *clientExclusionMonitor) reset() { *m = clientExclusionMonitor{} }

func (m *clientExclusionMonitor) copy(from monitor) { *m = *from.(*clientExclusionMonitor) }

func (m *clientExclusionMonitor) finish(*queue, []history.Event) *history.Violation { return nil }
func (m *clientExclusionMonitor) state(_ *queue,
	s *State,
) {
	s.fold(uint64(m.inside), 0)
}

// visible: an earlier Enter, or a later Leave or Lost, makes the time inside longer.
func (m *clientExclusionMonitor) visible(_ *queue, e *history.Event) bool {
	return e.Kind == history.Leave || e.Kind == history.Lost
}

func (m *clientExclusionMonitor) observe(_ *queue, log []history.Event, i int) *history.Violation {
	switch e := &log[i]; e.Kind {
	case history.Enter:
		if m.inside != 0 && m.inside != e.Process {
			return &history.Violation{
				Property: history.ClientMutualExclusion, Event: i, Reason: reasonTwoInside,
				Detail: fmt.Sprintf("c%d entered while c%d was inside since event %d", e.Process,
					m.inside,
					m.since),
				Evidence: history.Evidence{
					Process: e.Process, Other: m.inside, Events: []int{m.since},
				},
			}
		}
		m.inside, m.since = e.Process, i
	case history.Leave, history.Lost, history.Crashed:
		if m.inside == e.Process {
			m.inside = 0
		}
	}
	return nil
}
