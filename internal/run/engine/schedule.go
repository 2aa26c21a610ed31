package engine

import "github.com/interlock-sim/interlock/sim"

// A Deviation is a decision of a schedule that differs from the default policy.
type Deviation struct {
	Index int      `json:"index"` // the number of the decision in the run, from 0
	Step  sim.Step `json:"step"`  // the step that is taken
}

// A Replay is the strategy that follows a recorded schedule, and the default policy where the
// schedule has no deviation. A recorded step that is not enabled at its decision is skipped, so
// that schedules survive changes of the code.
type Replay struct {
	Deviations []Deviation // by Index, ascending
	Skipped    []Deviation // those of the last run that were not enabled

	next int
}

// Choose returns the recorded step.
func (r *Replay) Choose(index int, enabled []sim.EnabledStep, defaultIndex int) int {
	if index == 0 {
		r.next, r.Skipped = 0, nil
	}
	for r.next < len(r.Deviations) && r.Deviations[r.next].Index <= index {
		deviation := r.Deviations[r.next]
		r.next++
		if deviation.Index == index {
			if deviation.Step.Unlisted() {
				return Ask(deviation.Step)
			}
			for i := range enabled {
				if enabled[i].Step == deviation.Step {
					return i
				}
			}
		}
		r.Skipped = append(r.Skipped, deviation)
	}
	return defaultIndex
}

// ChooseGoroutine returns the recorded choice.
func (r *Replay) ChooseGoroutine(index int, choices []sim.EnabledStep) int {
	return max(0, r.Choose(index, choices, 0))
}

// Unreached returns the deviations of the last run whose decision was never reached, because the
// run had ended or its fair phase had begun.
func (r *Replay) Unreached() []Deviation { return r.Deviations[r.next:] }
