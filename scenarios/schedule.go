package scenarios

// A Deviation is a decision of a schedule that differs from the default policy's.
type Deviation struct {
	Index int  `json:"index"` // which decision of the run, from 0
	Step  Step `json:"step"`  // what happens instead
}

// A Replay is the strategy that follows a recorded schedule and takes the default policy where that
// says nothing. It is lenient: a recorded step that cannot happen when its turn comes is skipped,
// so that a schedule survives changes of the code.
type Replay struct {
	Deviations []Deviation // by Index, ascending
	Skipped    []Deviation // those of the last run that could not happen

	next int
}

// Choose returns the recorded step.
func (r *Replay) Choose(index int, enabled []EnabledStep, defaultIndex int) int {
	if index == 0 {
		r.next, r.Skipped = 0, nil
	}
	for r.next < len(r.Deviations) && r.Deviations[r.next].Index <= index {
		deviation := r.Deviations[r.next]
		r.next++
		if deviation.Index == index {
			if deviation.Step.Kind == Fair {
				return beginFair
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

// Unreached returns those of the last run whose turn never came, because the run was over by then
// or fair.
func (r *Replay) Unreached() []Deviation { return r.Deviations[r.next:] }
