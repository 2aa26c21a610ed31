package exhaustive

import (
	"slices"

	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/run/engine"
)

// A savedState is a state of the search from which it can continue.
type savedState struct {
	run     engine.Snapshot
	monitor *check.Monitor
}

// snapshot takes a snapshot of the current state, to which the path leads, if the search is going
// to return to it, and the run can be saved. The search may also return to a state with deferred
// steps, but seldom does.
func (x *dfs) snapshot(f *frame) *savedState {
	if x.ValidatedRunner == nil || x.search.noSnapshots || !x.view.CanSave() ||
		len(f.rest) == 0 && (f.deferred == nil || x.savedLately()) {
		return nil
	}
	var s *savedState
	if last := len(x.freeSnapshots) - 1; last >= 0 {
		s, x.freeSnapshots = x.freeSnapshots[last], x.freeSnapshots[:last]
	} else {
		s = &savedState{monitor: x.search.newMonitor()}
	}
	x.view.Save(&s.run)
	s.monitor.Copy(x.monitor)
	return s
}

// savedLately reports whether one of the last states of the path has a snapshot.
func (x *dfs) savedLately() bool {
	return slices.ContainsFunc(x.path[max(0, len(x.path)-snapshotEvery+1):],
		func(f frame) bool { return f.snapshot != nil })
}

// latest returns the last snapshot on the path, or nil.
func (x *dfs) latest() *savedState {
	for _, b := range slices.Backward(x.path) {
		if b.snapshot != nil {
			return b.snapshot
		}
	}
	return nil
}

// shorten truncates the path to n frames, of which the task has at least as many.
func (x *dfs) shorten(n int) {
	for i := len(x.path) - 1; i >= n; i-- {
		if s := x.path[i].snapshot; s != nil {
			x.freeSnapshots = append(x.freeSnapshots, s)
		}
		if o := x.path[i].opening; o != nil {
			x.pool.add(x.states.finish(o)...)
		}
	}
	if n < len(x.path) {
		x.histories = x.histories[:x.path[n].histories]
	}
	x.path = x.path[:n]
}

// snapshotEvery is the distance of snapshots on a path on which the search is going to return to no
// state. Taking one costs about two steps.
const snapshotEvery = 8
