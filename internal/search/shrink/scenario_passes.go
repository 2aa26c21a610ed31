package shrink

import (
	"slices"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// defaultPolicy tries the default policy in all scenarios up to the present one, the smallest
// first. If the failure is one of the fair phase, that phase begins at each decision in turn.
func (s *shrinker) defaultPolicy() {
	defer s.searchAnywhere()()
	largest, remains := s.scenario, s.budget(searchCost)
	for clients := 1; clients <= largest.Clients; clients++ {
		for cycles := 1; cycles <= largest.Cycles && remains(); cycles++ {
			scenario := largest
			scenario.Clients, scenario.Cycles, scenario.Faults = clients, cycles, faults.Plan{}
			if s.replay(scenario, nil) || s.fairPhase && s.fairAfter(scenario, nil) {
				return
			}
		}
	}
}

// fairMax bounds the decisions at which the fair phase is tried.
const fairMax = 256

// fairAfter begins the fair phase at each decision in turn, and drops the deviations from there on.
func (s *shrinker) fairAfter(scenario scenarios.Scenario, deviations []engine.Deviation) bool {
	until := min(len(s.steps), fairMax)
	for i, kept := 0, 0; i < until; i++ {
		for kept < len(deviations) && deviations[kept].Index < i {
			kept++
		}
		runs, fair := s.runs, engine.Deviation{Index: i, Step: sim.Step{Kind: sim.Fair}}
		if s.replay(scenario, append(slices.Clone(deviations[:kept]), fair)) {
			return true
		}
		if s.runs > runs && len(s.recorder.steps) <= i {
			return false // The run ended before.
		}
	}
	return false
}

// projections drops faults, processes and cycles from the schedule as it was found, with what the
// rest of the schedule says.
func (s *shrinker) projections() {
	for s.dropFault() || s.dropProcess() || s.dropCycle() {
	}
}

// fewerFaults looks for a failure with fewer faults than the schedule has, of any kinds.
func (s *shrinker) fewerFaults() bool {
	used := s.size[faultCount]
	if used == 0 {
		return false
	}
	if s.dropFault() {
		return true
	}
	for kind := range faults.Kinds {
		if s.scenario.Faults.Allows(kind) {
			alone := s.scenario
			alone.Faults = faults.Of(kind, uint16(used-1))
			if s.search(alone) {
				return true
			}
			if used == 1 {
				return false // Without a fault, the kind makes no difference.
			}
		}
	}
	mixed := s.scenario
	mixed.Faults = faults.Of(faults.Any, uint16(used-1))
	return used > 2 && s.search(mixed)
}

// dropFault tries the schedule without one of its faults.
func (s *shrinker) dropFault() bool {
	for i, d := range s.deviations {
		if d.Step.Kind == sim.Fault && (s.dropped(i, i+1) ||
			s.follow(s.scenario, slices.Delete(slices.Clone(s.steps), d.Index, d.Index+1))) {
			return true
		}
	}
	return false
}

// fewerProcesses looks for a failure with one process less.
func (s *shrinker) fewerProcesses() bool {
	if s.scenario.Clients == 1 {
		return false
	}
	fewer := s.scenario
	fewer.Clients--
	return s.dropProcess() || s.search(fewer)
}

// dropProcess tries the schedule without one of its processes. The processes after that one get
// the numbers before theirs.
func (s *shrinker) dropProcess() bool {
	fewer := s.scenario
	if fewer.Clients--; fewer.Clients == 0 {
		return false
	}
	if s.replay(fewer, s.deviations) {
		return true
	}
	for process := int32(s.scenario.Clients); process > 0; process-- {
		var deviations []engine.Deviation
		for _, d := range s.deviations {
			if processOf(d.Step) != process {
				d.Step = withoutProcess(d.Step, process)
				deviations = append(deviations, d)
			}
		}
		var steps []sim.Step
		for _, step := range s.steps {
			if processOf(step) != process {
				steps = append(steps, withoutProcess(step, process))
			}
		}
		if s.replay(fewer, deviations) || s.follow(fewer, steps) {
			return true
		}
	}
	return false
}

// withoutProcess returns a step of another process as it is called without the given one.
func withoutProcess(step sim.Step, process int32) sim.Step {
	if processOf(step) > process {
		step.Process--
	}
	return step
}

// processOf returns the process of a step, or of the thread that takes it. Servers are negative.
func processOf(step sim.Step) int32 {
	if step.Process <= 0 {
		return step.Process
	}
	process, _ := history.ProcessOf(step.Process)
	return process
}

// fewerThreads looks for a failure with one thread less in each process.
func (s *shrinker) fewerThreads() bool {
	if s.scenario.Threads < 2 {
		return false
	}
	fewer := s.scenario
	fewer.Threads--
	return s.replay(fewer, s.deviations) || s.search(fewer)
}

// fewerCycles looks for a failure with one cycle less.
func (s *shrinker) fewerCycles() bool {
	if s.scenario.Cycles == 1 {
		return false
	}
	fewer := s.scenario
	fewer.Cycles--
	return s.dropCycle() || s.search(fewer)
}

// dropCycle tries the schedule with one cycle less.
func (s *shrinker) dropCycle() bool {
	fewer := s.scenario
	if fewer.Cycles--; fewer.Cycles == 0 {
		return false
	}
	return s.replay(fewer, s.deviations) || s.follow(fewer, s.steps)
}
