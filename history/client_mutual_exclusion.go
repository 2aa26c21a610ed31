package history

import "fmt"

const reasonTwoInside = "a process entered its critical section while another was inside"

// CheckClientMutualExclusion decides [ClientMutualExclusion]: at most one process at a time is in
// the critical section without knowing that it has lost the lock.
//
// An event of the property is an Enter. A process is inside from its Enter until a Leave, a Lost or
// a Crashed event. The property holds if no process enters while another is inside.
//
// The property does not cover a process that has been notified of its loss and has not left yet:
// what it does then is not the fault of the lock.
//
// The check takes time linear in the events, and keeps one process: a second one inside is a
// violation.
func CheckClientMutualExclusion(events []Event) *Violation {
	return decide(ClientMutualExclusion, new(clientExclusionMonitor), events)
}

type clientExclusionMonitor struct {
	inside int32 // the process that is inside, or 0
	since  int   // the index of its Enter
}

func (m *clientExclusionMonitor) reset() { *m = clientExclusionMonitor{} }

func (m *clientExclusionMonitor) copy(from monitor) { *m = *from.(*clientExclusionMonitor) }

func (m *clientExclusionMonitor) finish(*queue, []Event) *Violation { return nil }
func (m *clientExclusionMonitor) state(_ *queue, s *State)          { s.fold(uint64(m.inside), 0) }

// visible: an earlier Enter, or a later Leave or Lost, makes the time inside longer.
func (m *clientExclusionMonitor) visible(_ *queue, e *Event) bool {
	return e.Kind == Leave || e.Kind == Lost
}

func (m *clientExclusionMonitor) observe(_ *queue, log []Event, i int) *Violation {
	switch e := &log[i]; e.Kind {
	case Enter:
		if m.inside != 0 && m.inside != e.Process {
			return &Violation{
				Property: ClientMutualExclusion, Event: i, Reason: reasonTwoInside,
				Detail: fmt.Sprintf("c%d entered while c%d was inside since event %d", e.Process,
					m.inside,
					m.since),
			}
		}
		m.inside, m.since = e.Process, i
	case Leave, Lost, Crashed:
		if m.inside == e.Process {
			m.inside = 0
		}
	}
	return nil
}
