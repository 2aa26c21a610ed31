package history

import "fmt"

const reasonTwoInside = "a process entered its critical section while another was inside"

// CheckBeliefExclusion decides [BeliefExclusion]: one process at a time believes that it has the lock and acts on it.
//
// A process is inside from Enter until it leaves, is told that it has lost the lock, or crashes. The property holds if
// no process enters while another is inside. A process that has been told of its loss counts as outside even before it
// leaves: from there on it knows better, and what it does is its own fault and not that of the lock.
//
// It takes time linear in the events. To remember one process is enough: with a second one inside it is decided.
func CheckBeliefExclusion(events []Event) *Violation {
	inside, since := int32(0), 0
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case Enter:
			if inside != 0 && inside != e.Process {
				return &Violation{
					Property: BeliefExclusion, Event: i, Reason: reasonTwoInside,
					Detail: fmt.Sprintf("c%d entered while c%d was inside since event %d", e.Process, inside, since),
				}
			}
			inside, since = e.Process, i
		case Leave, Lost, Crashed:
			if inside == e.Process {
				inside = 0
			}
		}
	}
	return nil
}
