package exhaustive

import (
	"slices"

	"github.com/interlock-sim/interlock/internal/search/replay"
)

// unstoredMax is how many states in a row are not stored.
//
// A state in which only one step is tried always leads to the same next state, and a run that
// reaches it again reaches that one too. So a search that stores only states with several steps
// explores the same states and stores far fewer (Behrmann, Larsen and Pelánek, "To Store or Not To
// Store", CAV 2003). Every unstoredMax-th state in a row is stored nevertheless, so that a long
// path that many others join is not explored again and again. While several workers search, it is
// one of about as many; see [dfs.storesChain].
const unstoredMax = 8

// merges reports whether the search merges local histories that make no difference; see [state].
func (x *dfs) merges() bool { return x.ValidatedRunner != nil && x.Cache.Merges }

// visited reports whether the current state, to which the path leads, need not be entered, because
// the search has stored it. If not, it returns the last state stored with the same key.
func (x *dfs) visited(key uint64) (known bool, last state) {
	if !x.merges() {
		return x.states.has(key), 0
	}
	if last = x.states.last(key); last == 0 {
		return false, 0
	}
	x.reached = x.Cache.Executor.Histories(x.reached[:0])
	return x.merged(last, x.reached, len(x.path), true)
}

// merged reports whether the state to which the first frames of the path lead with these local
// histories need not be entered: a state with the same key, of which the last one is given, is the
// same, or can be the same and may be waited for. If not, it returns the last of them.
func (x *dfs) merged(last state, histories []replay.LocalHistory, before int,
	parks bool,
) (merged bool, newest state) {
	from := x.parent(before)
	unfinished := state(0)
	for s := last; s != 0; s = x.states.record(s).other {
		switch {
		case !x.states.open(s):
			if x.same(s, histories) {
				x.states.join(from, s, histories)
				return true, 0
			}
		case s == x.past || x.onPath(s, before):
		case slices.Equal(x.states.historiesOf(s), histories):
			x.states.join(from, s, histories)
			return true, 0
		default:
			unfinished = s
		}
	}
	switch {
	case unfinished == 0 || !parks:
		return false, last
	case x.states.park(x.task(before), unfinished):
		return true, 0
	}
	return x.merged(last, histories, before, parks)
}

// onPath reports whether the state is among the first frames of the path. A search that comes to it
// again enters it as another one.
func (x *dfs) onPath(s state, before int) bool {
	return slices.ContainsFunc(x.path[:before], func(b frame) bool {
		return b.opening != nil && b.opening.state == s
	})
}

// onNewState stores the last state of the path, unless the search tries only one step there. It
// returns false if another worker has stored the same state since this one looked for it.
func (x *dfs) onNewState() bool {
	last := len(x.path) - 1
	b := &x.path[last]
	if x.merges() {
		x.histories = x.Cache.Executor.Histories(x.histories)
		b.historiesEnd, b.crashed = len(x.histories), x.crashed()
	}
	if last > 0 {
		b.unstored = x.path[last-1].unstored
	}
	b.unstored++
	if len(b.rest) > 0 || x.storesChain(b) || x.search.storeAll || x.bound > 0 {
		return x.store(last, true)
	}
	return true
}

// storesChain reports whether a state in which only one step is tried is stored. While several
// workers search, the key decides too, so that workers that come to a long row of such states by
// different paths mostly store the same ones.
func (x *dfs) storesChain(b *frame) bool {
	if x.pool.shared() {
		return b.unstored >= unstoredMax/2 && b.visit%(unstoredMax/2) == 0
	}
	return b.unstored >= unstoredMax
}

// store stores the state of a frame unless it is stored already. It returns false if another worker
// has stored the same state since this one looked for it, or may have and is waited for.
func (x *dfs) store(n int, parks bool) bool {
	b := &x.path[n]
	if b.stored {
		return true
	}
	b.stored, b.unstored = true, 0
	if x.division.guides() {
		return true
	}
	if !x.merges() {
		fresh := x.states.addKey(b.visit)
		if fresh && x.search.Checkpoint != "" {
			x.savepoint.fresh = append(x.savepoint.fresh, b.visit)
		}
		return fresh || x.bound > 0 || !x.pool.shared()
	}
	histories := x.histories[b.histories:b.historiesEnd]
	for {
		b.opening = x.states.add(b.visit, histories, b.crashed, b.last, x.parent(n))
		if b.opening != nil {
			return true
		}
		merged, last := x.merged(x.states.last(b.visit), histories, n, parks)
		if merged {
			return false
		}
		b.last = last
	}
}

// parent returns the last stored state among the first frames of the path, or nil.
func (x *dfs) parent(before int) *opening {
	for _, b := range slices.Backward(x.path[:before]) {
		if b.opening != nil {
			return b.opening
		}
	}
	return nil
}
