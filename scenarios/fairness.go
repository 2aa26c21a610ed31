package scenarios

import "slices"

// fairScope says of a search what was done for its Fair.
const fairScope = ", with the fair phase begun in every state"

// unfair tells whether it has to be tried in the state to which the way has come that the fair phase begins. What is judged from
// then on can otherwise break in schedules alone in which the phase begins late: when all is over, or nothing happens any more.
//
// It need not be tried where the default policy would have come too, had the phase begun in an earlier state: the same happens
// then, and more of it is judged.
func (x *explorer) unfair() bool {
	if x.bound > 0 && x.deviations() == x.bound {
		return false
	}
	for _, b := range slices.Backward(x.path) {
		if _, onServer := b.step.server(); b.step != b.usual || onServer && b.step.Kind == Heal {
			return true
		}
		if b.key != 0 { // Otherwise it is passed in a leap.
			return false
		}
	}
	return true
}
