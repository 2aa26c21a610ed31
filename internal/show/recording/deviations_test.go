package recording_test

import (
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/sim"
)

// A list of deviations has one line for ticks in a row, and names the first event of each step that
// has one.
func TestListDeviations(t *testing.T) {
	tick, cut := sim.Step{Kind: sim.Tick}, sim.Step{Kind: sim.Fault, Process: 2}
	deviations := []engine.Deviation{
		{Index: 3, Step: tick},
		{Index: 4, Step: cut},
		{Index: 5, Step: tick},
		{Index: 7, Step: tick},
		{Index: 8, Step: tick},
		{Index: 9, Step: tick},
	}
	want := "  step 3: tick (time passes until the next deadline)\n  step 4: cut c2\n" +
		"  steps 5 and 7 to 9: tick\n"
	if got := recording.ListDeviations(new(engine.Result), deviations); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	result := &engine.Result{
		Starts: []int{0, 2, 2, 4, 6, 7, 9, 10, 11, 12}, Events: make([]history.Event, 15),
	}
	want = "  step 3 (event 4): tick (time passes until the next deadline)\n" +
		"  step 4 (event 6): cut c2\n" +
		"  steps 5 and 7 to 9 (events 7 and 10 to 12): tick\n"
	if got := recording.ListDeviations(result, deviations); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	want = "  step 1: fair (from here on no fault strikes, and the default policy decides)\n"
	first := []engine.Deviation{{Index: 1, Step: sim.Step{Kind: sim.Fair}}} // It has no event.
	if got := recording.ListDeviations(result, first); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
