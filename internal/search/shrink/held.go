package shrink

import (
	"slices"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// Many locks fail after a fault only if much time passes then, while a process is in its critical
// section. Random schedules rarely have so many ticks in a row. So these schedules are searched one
// by one.

// held tries every schedule in which a fault, or none, strikes and much time passes then. Nothing
// is healed. One process stays in its critical section, or no process enters or leaves its own.
func (s *shrinker) held(scenario scenarios.Scenario) bool {
	remains := s.budget(searchCost)
	survey := new(survey)
	s.try(scenario, survey)
	isNoFault := func(d engine.Deviation) bool { return d.Step.Kind != sim.Fault }
	starts := append([]engine.Deviation{{}}, slices.DeleteFunc(survey.others, isNoFault)...)
	for _, start := range starts {
		for process := 0; process <= scenario.Clients && remains(); process++ {
			if s.try(scenario, &hold{start: start, process: int32(process), ticks: heldTicks}) {
				return true
			}
		}
	}
	return false
}

// A hold is the default policy, except that a fault strikes, and that for some ticks from there on
// nothing is healed and a process does not leave its critical section.
type hold struct {
	start   engine.Deviation // its step is a fault, or the zero Step for none
	process int32            // 0 for all, which then do not enter theirs either
	ticks   int              // still to pass
	others  []sim.EnabledStep
	indexes []int
}

// Choose returns the default policy's choice without the steps that are held back.
func (h *hold) Choose(index int, enabled []sim.EnabledStep, defaultIndex int) int {
	if index < h.start.Index || h.ticks == 0 {
		return defaultIndex
	}
	if index == h.start.Index && h.start.Step.Kind == sim.Fault {
		for i := range enabled {
			if enabled[i].Step == h.start.Step {
				return i
			}
		}
	}
	h.others, h.indexes = h.others[:0], h.indexes[:0]
	for i := range enabled {
		if !h.holds(enabled[i].Step) {
			h.others, h.indexes = append(h.others, enabled[i]), append(h.indexes, i)
		}
	}
	chosen := h.indexes[engine.DefaultIndex(h.others)]
	if enabled[chosen].Kind == sim.Tick {
		h.ticks--
	}
	return chosen
}

// holds reports whether a step is held back.
func (h *hold) holds(step sim.Step) bool {
	if step.Kind == sim.Heal {
		return true
	}
	if h.process == 0 {
		return step.Kind == sim.Enter || step.Kind == sim.Leave
	}
	return step.Kind == sim.Leave && step.Process == h.process
}

// heldTicks is enough time for a session to expire, even if timers of the lock divide it.
const heldTicks = 40
