package shrink

import (
	"slices"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// A size orders failing schedules by how much there is to understand. The first of these that
// differs decides.
type size [sizes]int

const (
	outOfContract = iota // 1 if the failure is out of contract; see [engine.Result.OutOfContract]
	faultCount
	processes
	cycles
	// switches counts the deviations, other than faults, that concern another process than the
	// deviation before; see [group].
	switches
	// units counts what can be dropped: deviations, where a run of ticks counts once.
	units
	deviations
	sizes
)

// less reports whether the schedule is smaller than another one.
func (s size) less(other size) bool { return slices.Compare(s[:], other[:]) < 0 }

// sizeOf returns the size of a schedule that fails.
func sizeOf(scenario *scenarios.Scenario, result *engine.Result) (size size) {
	size[processes], size[cycles] = scenario.Clients*scenario.EffectiveThreads(), scenario.Cycles
	size[deviations] = len(result.Deviations)
	if result.OutOfContract(scenario, result.Violations[0]) {
		size[outOfContract] = 1
	}
	for _, group := range groups(result.Deviations) {
		switch group[0].Step.Kind {
		case sim.Fault:
			size[faultCount]++
			size[units]++
		case sim.Tick:
			size[switches]++
			size[units]++
		default:
			size[switches]++
			size[units] += len(group)
		}
	}
	return size
}

// A group is a part of a schedule's deviations that a reader takes for one decision: steps of one
// process, a run of ticks, or a fault. A group without some of its deviations, and a schedule
// without some of its groups, has no more groups than before. So a schedule only becomes smaller if
// deviations are dropped.
type group []engine.Deviation

// groups divides a schedule into as few groups as possible.
func groups(deviations []engine.Deviation) (all []group) {
	from := 0
	for i := range deviations {
		if i+1 == len(deviations) || !together(deviations[i].Step, deviations[i+1].Step) {
			all = append(all, deviations[from:i+1])
			from = i + 1
		}
	}
	return all
}

// together reports whether two steps in a row belong to the same group.
func together(a, b sim.Step) bool {
	alone := func(step sim.Step) bool { return step.Kind == sim.Fault || step.Kind == sim.Fair }
	return !alone(a) && !alone(b) && a.Process == b.Process
}

// unitBounds returns where the units of a schedule begin and end among its deviations.
func unitBounds(deviations []engine.Deviation) (bounds [][2]int) {
	from := 0
	for _, group := range groups(deviations) {
		if group[0].Step.Kind == sim.Tick {
			bounds = append(bounds, [2]int{from, from + len(group)})
		} else {
			for i := range group {
				bounds = append(bounds, [2]int{from + i, from + i + 1})
			}
		}
		from += len(group)
	}
	return bounds
}

// singleBounds returns the bounds of each deviation, ticks too.
func singleBounds(deviations []engine.Deviation) (bounds [][2]int) {
	for i := range deviations {
		bounds = append(bounds, [2]int{i, i + 1})
	}
	return bounds
}
