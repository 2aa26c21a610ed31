package exhaustive

import (
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/sim"
)

// symmetric reports whether a step has an equivalent of a lower number: of the processes that
// nothing has touched yet and that are alike, only the first need move. A schedule in which another
// one moves becomes one that is searched if the two swap names from beginning to end (Ip and Dill,
// "Better Verification Through Symmetry", 1996, restricted to such states). So processes are alike
// only if the swap changes neither their scripts nor the plan of faults, nor at which of several
// servers they begin.
//
// Processes are not quite alike, so symmetry is an option: each has its own randomness and its own
// znode names, which decide the order of listings. A lock whose behaviour depends on that can pass
// a symmetric search and have a defect. Commands refuse it with MaxDeviations and FairSuffixes,
// because the default policy goes by the numbers of processes.
func (x *dfs) symmetric(step sim.Step) bool {
	if step.Process <= 0 || !x.view.Untouched(step.Process) {
		return false
	}
	process, _ := history.ProcessOf(step.Process)
	plan := &x.search.Scenario.Faults
	if plan.NamesClient(process) || plan.PhasedOnServers() ||
		x.search.Scenario.EffectiveServers() > 1 {
		return false
	}
	for number := int32(1); number < process; number++ {
		if x.view.Untouched(number) && !plan.NamesClient(number) &&
			x.view.Alike(number, process) {
			return true
		}
	}
	return false
}

// untouchedMask returns the untouched processes, by number modulo 64, because the search tries
// different steps in states that differ in them.
func (x *dfs) untouchedMask() (mask uint64) {
	for number := int32(1); int(number) <= x.view.Processes(); number++ {
		if x.view.Untouched(number) {
			mask |= 1 << (number % 64)
		}
	}
	return mask
}
