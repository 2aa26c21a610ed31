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

// fairScope says of a search what was done for its Fair.
const fairScope = ", with the fair phase begun in every state"

// tryFairSuffix tells whether it has to be tried in the state to which the way has come that the
// fair phase begins.
//
// It need not be where the default policy has led from a state in which it was tried. The run that
// was fair from there on has come through this state, and all that is judged from now on was judged
// in it, with what happened in between: whoever has queued had its place then or has taken it
// since, and no place is lost any more. The default policy does otherwise once the order is fair
// with servers that nobody needs: it lets them be.
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
