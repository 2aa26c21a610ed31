package scenarios

import (
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/history"
)

// A rehearsal performs runs with what is known of the processes' code in the place of their goroutines, and now and then
// one for real, to see that it comes to the same: every run in which something is wrong, every one in which a process ends
// in a past in which none has ended before, and one in so many.
type rehearsal struct {
	scenario  *Scenario
	pasts     *pasts
	real      *Runner
	ended     map[*past]bool
	runs      int
	performed int
	every     int             // how many runs for one that is performed for real without a reason
	unlike    *Nondeterminism // what was different for real
}

// rehearsalsPerRun is so high that the real runs cost little beside the others.
const rehearsalsPerRun = 64

func newRehearsal(scenario *Scenario, t *testing.T) *rehearsal {
	return &rehearsal{scenario: scenario, pasts: newPasts(scenario, NewRunner(t)), real: NewRunner(t),
		ended: make(map[*past]bool)}
}

// refuted tells whether the runs so far took pasts for alike that are not. Then they are forgotten.
func (h *rehearsal) refuted() bool {
	if h == nil || h.pasts.likenesses == nil || !h.pasts.likenesses.wrong {
		return false
	}
	h.pasts.likenesses.restart()
	return true
}

// run performs a run.
func (h *rehearsal) run(runner *Runner, strategy Strategy) *Result {
	result := runner.rehearse(h.scenario, strategy, h.pasts)
	h.runs++
	if !h.worthwhile(result) {
		return result
	}
	h.performed++
	end := -1
	if result.Known {
		end = result.Steps
	}
	played := h.real.Run(h.scenario, &replayTo{Replay{Deviations: result.Deviations}, end})
	if played.TraceHash != result.TraceHash {
		h.unlike = differenceOf(slices.Clone(result.Events), played.Events)
	}
	result.Violations, result.Panic, result.PanicProcess, result.Leak = played.Violations, played.Panic, played.PanicProcess, played.Leak
	return result
}

// worthwhile tells whether a run is to be performed for real.
func (h *rehearsal) worthwhile(result *Result) bool {
	worth := len(result.Violations) > 0 || h.runs%h.every == 0
	if result.Known {
		return worth
	}
	for _, p := range h.pasts.last {
		if !h.ended[p] {
			h.ended[p], worth = true, true
		}
	}
	return worth
}

// A replayTo replays a schedule up to a decision.
type replayTo struct {
	Replay
	end int // the number of decisions, or less than none if the run goes on to its end
}

// Choose returns the recorded step.
func (r *replayTo) Choose(index int, options []Option, usual int) int {
	if index == r.end {
		return known
	}
	return r.Replay.Choose(index, options, usual)
}

// differenceOf returns the first event in which two runs differ.
func differenceOf(first, second []history.Event) *Nondeterminism {
	d := &Nondeterminism{}
	for d.Event < len(first) && d.Event < len(second) && first[d.Event] == second[d.Event] {
		d.Event++
	}
	if d.Event < len(first) {
		d.First = &first[d.Event]
	}
	if d.Event < len(second) {
		e := second[d.Event]
		d.Second = &e
	}
	return d
}
