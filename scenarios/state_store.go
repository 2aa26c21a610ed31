package scenarios

import "slices"

// Which states a search stores. One in which but one step is tried leads to the same state always,
// and whoever comes to it again comes to that one next: a search that stores only states with
// several steps goes through the same ones, and holds far fewer (Behrmann, Larsen and Pelánek, "To
// Store or Not To Store", CAV 2003). Every unstoredMax-th in a row is stored all the same, so that
// a long way to which many others lead is not gone through again and again.
const unstoredMax = 8

// merges tells whether the search takes pasts for one that make no difference; see state.
func (x *dfs) merges() bool { return x.validatedRunner != nil && x.cache.merges }

// visited tells whether the search has stored the state to which it has come, which has that key.
func (x *dfs) visited(key uint64) bool {
	if !x.merges() {
		return x.seen.has(key)
	}
	first := x.states.by[key]
	if first == nil {
		return false
	}
	pasts := x.cache.executor.histories()
	for s := first; s != nil; s = s.other {
		if !s.open && x.same(s, pasts) {
			x.recordPath(len(x.path), continuation{s, pasts})
			return true
		}
	}
	return false
}

// onNewState stores the last state of the way, unless but one step is tried there as far as is
// known.
func (x *dfs) onNewState() {
	last := len(x.path) - 1
	b := &x.path[last]
	if x.merges() {
		b.state = &state{
			pasts: x.cache.executor.histories(), crashed: x.crashed(),
			open: true,
		}
	}
	if last > 0 {
		b.unstored = x.path[last-1].unstored
	}
	if b.unstored++; len(b.rest) > 0 || b.unstored >= unstoredMax || x.search.storeAll ||
		x.bound > 0 {
		x.store(b)
	}
}

// store stores the last state of the way, unless it is already.
func (x *dfs) store(b *frame) {
	if b.stored {
		return
	}
	b.stored, b.unstored = true, 0
	if !x.merges() {
		if x.seen.add(b.visit) && x.search.Checkpoint != "" {
			x.savepoint.fresh = append(x.savepoint.fresh, b.visit)
		}
		return
	}
	b.state.other = x.states.by[b.visit]
	x.states.by[b.visit] = b.state
	x.states.count++
	x.recordPath(len(x.path)-1, continuation{b.state, b.state.pasts})
}

// recordPath notes, in the last state among the first so many of the way that is stored, where the
// way on from it has led.
func (x *dfs) recordPath(before int, w continuation) {
	if mutated == withoutContinuations {
		return
	}
	for _, b := range slices.Backward(x.path[:before]) {
		if from := b.state; b.stored {
			w.pasts = w.pasts[:len(from.pasts)]
			from.continuations = append(from.continuations, w)
			return
		}
	}
}
