package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/history/timeline"
	"github.com/interlock-sim/interlock/sim"
)

// A Deviation is a decision of a schedule that differs from the default policy.
type Deviation struct {
	Index int      `json:"index"` // the number of the decision in the run, from 0
	Step  sim.Step `json:"step"`  // the step that is taken
}

// ListDeviations lists deviations in lines, each with the first event of its step in parentheses if
// the result knows it. Ticks in a row share a line. The deviations are those of the run.
func (r *Result) ListDeviations(deviations []Deviation) string {
	var text strings.Builder
	for i := 0; i < len(deviations); {
		first, ticks := deviations[i], 1
		for first.Step.Kind == sim.Tick && i+ticks < len(deviations) &&
			deviations[i+ticks].Step.Kind == sim.Tick {
			ticks++
		}
		if ticks == 1 {
			fmt.Fprintf(&text, "  %s: %v\n",
				explain.StepName(r.Starts, len(r.Events), first.Index), first.Step)
		} else {
			text.WriteString(timeline.Wrap(r.ticks(deviations[i:i+ticks]), describedWidth, "  "))
		}
		i += ticks
	}
	return text.String()
}

// ticks names several ticks.
func (r *Result) ticks(deviations []Deviation) string {
	var steps, events []int
	for _, d := range deviations {
		steps = append(steps, d.Index)
		if event, known := explain.FirstEvent(r.Starts, len(r.Events), d.Index); known {
			events = append(events, event)
		}
	}
	text := "steps " + numbers(steps)
	if len(events) == len(steps) {
		text += " (events " + numbers(events) + ")"
	}
	return text + ": tick"
}

// numbers lists ascending numbers, three or more in a row as a range: "1, 3 to 7 and 9".
func numbers(all []int) string {
	var parts []string
	for i := 0; i < len(all); {
		n := 1
		for i+n < len(all) && all[i+n] == all[i]+n {
			n++
		}
		if n < 3 {
			n = 1
			parts = append(parts, strconv.Itoa(all[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d to %d", all[i], all[i+n-1]))
		}
		i += n
	}
	if last := len(parts) - 1; last > 0 {
		return strings.Join(parts[:last], ", ") + " and " + parts[last]
	}
	return strings.Join(parts, "")
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
