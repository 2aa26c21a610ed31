package shrink

import (
	"slices"

	"github.com/interlock-sim/interlock/internal/engine"
	"github.com/interlock-sim/interlock/sim"
)

// A size orders failing schedules by how much there is to understand. The first of these that
// differs decides.
type size [sizes]int

const (
	outOfContract = iota // 1 if the failure is out of contract; see [engine.Scenario.OutOfContract]
	faultCount
	processes
	cycles
	// switches counts the segments with a deviation that is no fault; see [segment].
	switches
	// units counts what can be dropped: deviations, where those of one run of ticks count once.
	units
	deviations
	sizes
)

// less reports whether the schedule is smaller than another one.
func (s size) less(other size) bool { return slices.Compare(s[:], other[:]) < 0 }

// sizeOf returns the size of the last run.
func (s *shrinker) sizeOf(scenario *engine.Scenario, result *engine.Result) (size size) {
	size[processes], size[cycles] = scenario.Clients, scenario.Cycles
	size[deviations] = len(result.Deviations)
	if scenario.OutOfContract(result, result.Violations[0]) {
		size[outOfContract] = 1
	}
	for _, segment := range segments(s.recorder.steps, result.Deviations) {
		switch n := len(segment.deviations); {
		case n == 0:
		case segment.fault():
			size[faultCount]++
			size[units]++
		default:
			size[switches]++
			size[units] += len(segment.units())
		}
	}
	return size
}

// A segment is a part of a run in which one process or server takes all steps, in which time passes
// without any other step, or which is a single fault.
type segment struct {
	from, to   int // its steps
	first      sim.Step
	deviations []engine.Deviation
}

func (s *segment) fault() bool { return s.first.Kind == sim.Fault }

// continues reports whether a step belongs to the same segment.
func (s *segment) continues(step sim.Step) bool {
	tick := step.Kind == sim.Tick || s.first.Kind == sim.Tick
	return !s.fault() && step.Kind != sim.Fault && step.Process == s.first.Process &&
		(!tick || step.Kind == s.first.Kind)
}

// units divides the deviations of a segment into those that are dropped together.
func (s *segment) units() [][]engine.Deviation {
	if s.first.Kind == sim.Tick && len(s.deviations) > 0 {
		return [][]engine.Deviation{s.deviations}
	}
	var units [][]engine.Deviation
	for i := range s.deviations {
		units = append(units, s.deviations[i:i+1])
	}
	return units
}

// segments divides a run into segments.
func segments(steps []sim.Step, deviations []engine.Deviation) []segment {
	var all []segment
	for i, step := range steps {
		if len(all) == 0 || !all[len(all)-1].continues(step) {
			all = append(all, segment{from: i, first: step})
		}
		last := &all[len(all)-1]
		last.to = i + 1
		from := 0
		for from < len(deviations) && deviations[from].Index < last.from {
			from++
		}
		to := from
		for to < len(deviations) && deviations[to].Index < last.to {
			to++
		}
		deviations, last.deviations = deviations[from:], deviations[from:to]
	}
	return all
}
