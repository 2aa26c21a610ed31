package exhaustive

import (
	"slices"

	"github.com/interlock-sim/interlock/sim"
)

// The fair phase, in which no fault strikes and the default policy decides, begins in every run:
// when all processes have finished, when nothing has happened for long, or after many steps.
// Liveness is judged from then on. By then little is left to be judged: a lock that lets one
// process overtake another for ever does so while both have attempts left. So with FairSuffixes the
// search also begins the fair phase in each state, as the last step that it tries there. No step
// follows: the default policy decides how the run continues, and its states are not states of the
// search.
//
// With FairSuffixes no partial-order reduction applies. The fair phase is one schedule, which
// depends on the messages in flight when it begins; a state that the reduction skips cannot be
// replaced by another.
//
// The state of the monitors before that step is part of a state's key: see [dfs.visitKey]. The
// default policy also goes by the order in which messages were sent, which is in no key. So the
// fair phase begins with an order of messages that depends on the state alone; see
// [engine.Loop.beginFairPhase].

// tryFairSuffix reports whether the search has to begin the fair phase in the current state.
//
// It need not if the default policy alone has led here from a state in which the search began the
// fair phase. That fair phase has passed through this state, and everything that is judged from
// here was judged in that run: a process that has queued had its place then or has taken it since,
// and no place is lost any more. Servers that no leader needs are an exception, because in the fair
// phase the default policy does not heal them.
func (x *dfs) tryFairSuffix() bool {
	if x.bound > 0 && x.deviations() == x.bound {
		return false
	}
	if x.search.fairEverywhere {
		return true
	}
	for _, b := range slices.Backward(x.path) {
		if _, onServer := b.step.Server(); !b.followsDefault() || onServer &&
			b.step.Kind == sim.Heal {
			return true
		}
		if b.key != 0 { // Otherwise the state was passed in a time jump.
			return false
		}
	}
	return true
}

// followsDefault reports whether the default policy leads to the state after the frame. Where it
// lets time pass, it does so until a process acts, so it leads through each earlier instant.
func (f *frame) followsDefault() bool {
	return f.step == f.defaultStep || f.step.PassesTime() && f.defaultStep.PassesTime()
}
