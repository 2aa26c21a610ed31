package shrink

import (
	"slices"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/sim"
)

// A recorder follows another strategy and records what it chooses.
type recorder struct {
	engine.Strategy
	view   engine.View
	steps  []sim.Step // all before the fair phase
	events []int      // the number of events before each
}

func (r *recorder) reset(strategy engine.Strategy) {
	r.Strategy, r.steps, r.events = strategy, r.steps[:0], r.events[:0]
}

// Join gives the recorder access to the events of the run.
func (r *recorder) Join(view engine.View) { r.view = view }

// Settled settles nothing in advance.
func (r *recorder) Settled(int) (step sim.Step, deviates, ok bool) { return step, false, false }

// Choose records the choice of the other strategy.
func (r *recorder) Choose(index int, enabled []sim.EnabledStep, defaultIndex int) int {
	chosen := r.Strategy.Choose(index, enabled, defaultIndex)
	r.steps = append(r.steps, engine.Chosen(chosen, enabled))
	r.events = append(r.events, len(r.view.Events()))
	return chosen
}

// ChooseGoroutine records the choice of the other strategy.
func (r *recorder) ChooseGoroutine(index int, choices []sim.EnabledStep) int {
	chosen := 0
	if s, ok := r.Strategy.(engine.GoroutineStrategy); ok {
		chosen = s.ChooseGoroutine(index, choices)
	}
	r.steps = append(r.steps, choices[chosen].Step)
	r.events = append(r.events, len(r.view.Events()))
	return chosen
}

// A guide takes given steps in their order and skips those that are not enabled. After the last of
// them it follows the default policy. A schedule without some of its steps has other numbers of
// decisions; a guide keeps the order in which things happen.
type guide struct {
	steps []sim.Step
	next  int
}

// Choose returns the next of the steps that is enabled.
func (g *guide) Choose(_ int, enabled []sim.EnabledStep, defaultIndex int) int {
	for ; g.next < len(g.steps); g.next++ {
		wanted := g.steps[g.next]
		if wanted.Unlisted() {
			g.next++
			return engine.Ask(wanted)
		}
		is := func(o sim.EnabledStep) bool { return o.Step == wanted }
		if i := slices.IndexFunc(enabled, is); i >= 0 {
			g.next++
			return i
		}
	}
	return defaultIndex
}

// ChooseGoroutine returns the next of the steps if that is a possible choice.
func (g *guide) ChooseGoroutine(_ int, choices []sim.EnabledStep) int {
	if g.next < len(g.steps) {
		wanted := g.steps[g.next]
		is := func(o sim.EnabledStep) bool { return o.Step == wanted }
		if i := slices.IndexFunc(choices, is); i >= 0 {
			g.next++
			return i
		}
	}
	return 0
}

// A survey follows a schedule of at most one deviation and records what else could be chosen after
// that.
type survey struct {
	engine.Replay
	others []engine.Deviation
}

// Choose records the enabled steps that are not chosen.
func (s *survey) Choose(index int, enabled []sim.EnabledStep, defaultIndex int) int {
	chosen := s.Replay.Choose(index, enabled, defaultIndex)
	if len(s.Deviations) > 0 && s.Deviations[0].Index >= index {
		return chosen
	}
	for i := range enabled {
		if i != chosen {
			s.others = append(s.others, engine.Deviation{Index: index, Step: enabled[i].Step})
		}
	}
	return chosen
}
