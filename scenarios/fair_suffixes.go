package scenarios

import "slices"

// The fair phase, from which on no fault strikes and the default policy decides, begins in every
// run: when all processes have finished, when nothing has happened for long, or after many steps.
// What must happen in the end is judged from then on. There is little left to be judged by then: a
// lock that lets one process overtake another for ever does so while both have attempts left. So a
// search with Fair tries it as one more step, the last of each state. No step follows: how the run
// goes on is the default policy's matter, and whatever it comes to is not a state of the search.
//
// With Fair no partial-order reduction leaves a step out. The fair phase is one schedule, so that
// what it comes to depends on which messages are under way when it begins; a state that the
// reduction passes by cannot be made up for by another.
//
// What the properties remember from before that step is part of a state's key: see
// [explorer.visit]. The default policy goes by the order in which messages were sent too, which is
// not. So the fair phase begins with an order of the messages under way that depends on the state
// alone; see beFair.

// fairScope is what FairSuffixes adds to the scope of a search.
const fairScope = ", with the fair phase begun in every state"

// tryFairSuffix reports whether the search has to begin the fair phase in the current state.
//
// It has not where the default policy has led from a state in which it did. The run that was fair
// from there has passed through this state, and everything that is judged from here was judged in
// that run: a process that has queued had its place then or has taken it since, and no place is
// lost any more. Servers that no leader needs are an exception, because in the fair phase the
// default policy does not heal them.
func (x *dfs) tryFairSuffix() bool {
	if x.bound > 0 && x.deviations() == x.bound {
		return false
	}
	if x.search.fairEverywhere {
		return true
	}
	for _, b := range slices.Backward(x.path) {
		if _, onServer := b.step.server(); b.step != b.defaultStep || onServer &&
			b.step.Kind == Heal {
			return true
		}
		if b.key != 0 { // Otherwise the state was passed in a leap.
			return false
		}
	}
	return true
}
