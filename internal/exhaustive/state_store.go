package exhaustive

import (
	"slices"

	"github.com/interlock-sim/interlock/internal/replay"
	"github.com/interlock-sim/interlock/internal/searchmutation"
)

// unstoredMax is how many states in a row are not stored.
//
// A state in which only one step is tried always leads to the same next state, and a run that
// reaches it again reaches that one too. So a search that stores only states with several steps
// explores the same states and stores far fewer (Behrmann, Larsen and Pelánek, "To Store or Not To
// Store", CAV 2003). Every unstoredMax-th state in a row is stored nevertheless, so that a long
// path that many others join is not explored again and again.
const unstoredMax = 8

// merges reports whether the search merges local histories that make no difference; see [state].
func (x *dfs) merges() bool { return x.ValidatedRunner != nil && x.Cache.Merges }

// visited reports whether the search has stored the current state, which has the given key.
func (x *dfs) visited(key uint64) bool {
	if !x.merges() {
		return x.seen.Has(key)
	}
	s := x.states.withKey(key)
	if s == 0 {
		return false
	}
	x.reached = x.Cache.Executor.Histories(x.reached[:0])
	for ; s != 0; s = x.states.record(s).other {
		if x.states.record(s).flags&stateOpen == 0 && x.same(s, x.reached) {
			x.recordPath(len(x.path), s, x.reached)
			return true
		}
	}
	return false
}

// onNewState stores the last state of the path, unless the search tries only one step there.
func (x *dfs) onNewState() {
	last := len(x.path) - 1
	b := &x.path[last]
	if x.merges() {
		x.histories = x.Cache.Executor.Histories(x.histories)
		b.historiesEnd, b.crashed = len(x.histories), x.crashed()
	}
	if last > 0 {
		b.unstored = x.path[last-1].unstored
	}
	if b.unstored++; len(b.rest) > 0 || b.unstored >= unstoredMax || x.search.storeAll ||
		x.bound > 0 {
		x.store(b)
	}
}

// store stores the last state of the path unless it is stored already.
func (x *dfs) store(b *frame) {
	if b.stored {
		return
	}
	b.stored, b.unstored = true, 0
	if !x.merges() {
		if x.seen.Add(b.visit) && x.search.Checkpoint != "" {
			x.savepoint.fresh = append(x.savepoint.fresh, b.visit)
		}
		return
	}
	histories := x.histories[b.histories:b.historiesEnd]
	b.state = x.states.add(b.visit, histories, b.crashed)
	x.recordPath(len(x.path)-1, b.state, histories)
}

// recordPath adds a continuation to the last stored state among the first frames of the path.
func (x *dfs) recordPath(before int, to state, histories []replay.LocalHistory) {
	if searchmutation.Active == searchmutation.WithoutContinuations {
		return
	}
	for _, b := range slices.Backward(x.path[:before]) {
		if b.stored {
			x.states.addContinuation(b.state, to, histories)
			return
		}
	}
}
