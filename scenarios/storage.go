package scenarios

import "slices"

// Which states a search stores. One in which but one step is tried leads to the same state always, and whoever comes to it again
// comes to that one next: a search that stores only states with several steps goes through the same ones, and holds far fewer
// (Behrmann, Larsen and Pelánek, "To Store or Not To Store", CAV 2003). Every unstoredMax-th in a row is stored all the same, so that a
// long way to which many others lead is not gone through again and again.
const unstoredMax = 8

// merges tells whether the search takes pasts for one that make no difference; see state.
func (x *explorer) merges() bool { return x.rehearsal != nil && x.pasts.merged }

// visited tells whether the search has stored the state to which it has come, which has that key.
func (x *explorer) visited(key uint64) bool {
	if !x.merges() {
		return x.seen.has(key)
	}
	first := x.states.by[key]
	if first == nil {
		return false
	}
	pasts := x.loop.lived()
	for s := first; s != nil; s = s.other {
		if !s.open && x.same(s, pasts) {
			x.lead(len(x.path), wayOn{s, pasts})
			return true
		}
	}
	return false
}

// arrive stores the last state of the way, unless but one step is tried there as far as is known.
func (x *explorer) arrive() {
	last := len(x.path) - 1
	b := &x.path[last]
	if x.merges() {
		b.state = &state{pasts: x.loop.lived(), crashed: x.loop.crashed(), open: true}
	}
	if last > 0 {
		b.unstored = x.path[last-1].unstored
	}
	if b.unstored++; len(b.rest) > 0 || b.unstored >= unstoredMax || x.search.hoards || x.bound > 0 {
		x.store(b)
	}
}

// store stores the last state of the way, unless it is already.
func (x *explorer) store(b *branch) {
	if b.stored {
		return
	}
	b.stored, b.unstored = true, 0
	if !x.merges() {
		if x.seen.add(b.visit) && x.search.Checkpoint != "" {
			x.departure.fresh = append(x.departure.fresh, b.visit)
		}
		return
	}
	b.state.other = x.states.by[b.visit]
	x.states.by[b.visit] = b.state
	x.states.count++
	x.lead(len(x.path)-1, wayOn{b.state, b.state.pasts})
}

// lived returns the pasts to which the processes have come.
func (l *loop) lived() []*past {
	pasts := make([]*past, len(l.processes))
	for i, p := range l.processes {
		pasts[i] = p.stand.past
	}
	return pasts
}

// lead notes, in the last state among the first so many of the way that is stored, where the way on from it has led.
func (x *explorer) lead(before int, w wayOn) {
	if mutated == wayless {
		return
	}
	for _, b := range slices.Backward(x.path[:before]) {
		if from := b.state; b.stored {
			w.pasts = w.pasts[:len(from.pasts)]
			from.ways = append(from.ways, w)
			return
		}
	}
}
