package scenarios

// defaultIndex returns the index of the step that the default policy takes. A schedule records only
// its deviations from that policy, which takes
//
//   - the oldest message,
//   - then healing,
//   - then time, if a session is about to expire or a client to dial,
//   - then the process that has waited longest to enter or leave its critical section,
//   - then time without a reason.
//
// It never takes a fault and never ends a pause early. A critical section therefore lasts while
// anything else is under way, but not for more than patience messages: a process that has been
// passed over so often counts as a message, so that a lock that never stops sending cannot keep its
// holder inside.
func defaultIndex(enabled []EnabledStep) int {
	newest := uint64(0)
	for i := range enabled {
		newest = max(newest, enabled[i].Age)
	}
	best, bestClass := -1, 0
	for i := range enabled {
		o := &enabled[i]
		if o.Kind == Fault {
			continue
		}
		class := classes[o.Kind]
		switch {
		case (o.Kind == Enter || o.Kind == Leave) && newest-o.Age > patience:
			class = classes[Serve]
		case o.Kind == Tick && o.Due:
			class = classDue
		}
		if best < 0 || class < bestClass || class == bestClass && o.Age < enabled[best].Age {
			best, bestClass = i, class
		}
	}
	return best
}

var classes = [...]int{
	Serve: 0, Deliver: 0, Log: 0, Apply: 0, Heal: 1, Enter: 3, Leave: 3, Tick: 4,
	Resume: 5,
} // A pause lasts for as long as it may; time, which ends it, can always pass.

// the class of a tick at which something is due
const classDue = 2 // of a tick that brings something about

// patience is how many younger messages pass a process that waits to enter or leave.
const patience = 100

// usualFirst maps 0 to the default index, and moves the indexes before that up by one.
func usualFirst(draw, defaultIndex int) int {
	switch {
	case draw == 0:
		return defaultIndex
	case draw <= defaultIndex:
		return draw - 1
	}
	return draw
}
