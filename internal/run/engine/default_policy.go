package engine

import "github.com/interlock-sim/interlock/sim"

// DefaultIndex returns the index of the step that the default policy takes. A schedule records only
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
func DefaultIndex(enabled []sim.EnabledStep) int {
	newest := uint64(0)
	for i := range enabled {
		newest = max(newest, enabled[i].Age)
	}
	best, bestClass := -1, 0
	for i := range enabled {
		o := &enabled[i]
		if o.Kind == sim.Fault {
			continue
		}
		class := classes[o.Kind]
		switch {
		case (o.Kind == sim.Enter || o.Kind == sim.Leave) && newest-o.Age > patience:
			class = classes[sim.Serve]
		case o.Kind == sim.Tick && o.Due:
			class = classDue
		}
		if best < 0 || class < bestClass || class == bestClass && o.Age < enabled[best].Age {
			best, bestClass = i, class
		}
	}
	return best
}

// classes ranks the kinds of steps: the default policy takes the lowest class first.
var classes = [...]int{
	sim.Serve: 0, sim.Deliver: 0, sim.Log: 0, sim.Apply: 0, sim.Heal: 1, sim.Enter: 3, sim.Leave: 3,
	sim.Tick:   4,
	sim.Resume: 5,
} // A pause lasts for as long as it may; time, which ends it, can always pass.

// classDue is the class of a tick at which something is due.
const classDue = 2

// patience is how many younger messages pass a process that waits to enter or leave.
const patience = 100

// UsualFirst maps 0 to the default index, and moves the indexes before that up by one.
func UsualFirst(draw, defaultIndex int) int {
	switch {
	case draw == 0:
		return defaultIndex
	case draw <= defaultIndex:
		return draw - 1
	}
	return draw
}
