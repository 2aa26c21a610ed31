package exhaustive

import (
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/sim"
)

// symmetric reports whether a step has an equivalent of a lower number: of twins (see
// [engine.View.Twins]) only the first need move. They are twins until something else than a sync
// happens to either. A schedule in which the second moves becomes a schedule that is searched if
// the two swap names from beginning to end (Ip and Dill, "Better Verification Through Symmetry",
// 1996, restricted to such states). So the swap must change neither the plan of faults nor at which
// of several servers they begin.
//
// Processes are not quite alike, so symmetry is an option: each has its own randomness and its own
// znode names, which decide the order of listings. A lock whose behaviour depends on that can pass
// a symmetric search and have a defect. Commands refuse it with MaxDeviations and FairSuffixes,
// because the default policy goes by the numbers of processes.
func (x *dfs) symmetric(step sim.Step) bool {
	process, _ := history.ProcessOf(step.Process)
	return step.Process > 0 && x.firstTwin(process) < process
}

// firstTwin returns the first process that is a twin of the process, or the process itself.
func (x *dfs) firstTwin(process int32) int32 {
	plan := &x.search.Scenario.Faults
	if plan.NamesClient(process) || plan.PhasedOnServers() ||
		x.search.Scenario.EffectiveServers() > 1 {
		return process
	}
	for number := int32(1); number < process; number++ {
		if !plan.NamesClient(number) && x.view.Twins(number, process) {
			return number
		}
	}
	return process
}

// mixTwins adds to a key which processes are twins, because the search tries different steps in
// states that differ in that.
func (x *dfs) mixTwins(key uint64) uint64 {
	for number := int32(1); int(number) <= x.view.Processes(); number++ {
		key = hash64.Mix(key, uint64(x.firstTwin(number)))
	}
	return key
}
