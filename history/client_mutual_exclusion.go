package history

import "fmt"

const reasonTwoInside = "a process entered its critical section while another was inside"

// CheckClientMutualExclusion decides [ClientMutualExclusion]: one process at a time believes that
// it has the lock and acts on it.
//
// A process is inside from Enter until it leaves, is told that it has lost the lock, or crashes.
// The property holds if no process enters while another is inside. A process that has been told of
// its loss counts as outside even before it leaves: from there on it knows better, and what it does
// is its own fault and not that of the lock.
//
// It takes time linear in the events. To remember one process is enough: a second one inside
// decides it.
func CheckClientMutualExclusion(events []Event) *Violation {
	return decide(ClientMutualExclusion, new(clientExclusionMonitor), events)
}

type clientExclusionMonitor struct {
	inside int32 // the process that is inside, 0 for none
	since  int
}

func (m *clientExclusionMonitor) reset() { *m = clientExclusionMonitor{} }

func (m *clientExclusionMonitor) copy(from monitor)                 { *m = *from.(*clientExclusionMonitor) }
func (m *clientExclusionMonitor) finish(*queue, []Event) *Violation { return nil }
func (m *clientExclusionMonitor) state(_ *queue, s *State)          { s.fold(uint64(m.inside), 0) }

// visible: to enter sooner, and to leave or to be told of a loss later, is to be inside for longer.
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
