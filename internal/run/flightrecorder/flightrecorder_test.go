package flightrecorder_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/run/flightrecorder"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// A file says what each runner has done last, also when a run continues from a snapshot.
func TestRecorder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flight")
	r, err := flightrecorder.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	scenario := &scenarios.Scenario{
		Clients: 3, Cycles: 2, Threads: 2, Faults: faults.Of(faults.Any, 1), Servers: 3,
	}
	expire := sim.Step{Kind: sim.Fault, Fault: faults.Expire, Process: 2}
	follower := sim.Step{Kind: sim.Apply, Process: -2, Peer: 3}
	first, second := r.NewSlot(), r.NewSlot()
	r.NewSlot() // It never runs.

	first.Begin(scenario, 9)
	first.Decide(0, sim.Step{}, false)
	first.Decide(1, expire, true)
	first.Judge()
	first.End()
	first.Begin(scenario, 10)
	first.Resume([]engine.Deviation{{Index: 4, Step: expire}})
	first.Decide(7, sim.Step{}, false)
	first.Decide(8, follower, true)

	smaller := *scenario
	smaller.Clients = 2
	second.Begin(&smaller, 3)
	second.Decide(0, sim.Step{}, false)
	before := r.Progress(nil)
	second.Judge()

	flights, err := flightrecorder.Read(path)
	if err != nil || len(flights) != 2 {
		t.Fatalf("%d flights, error %v", len(flights), err)
	}
	if f := flights[0]; f.Schedule != 3 || f.State != flightrecorder.Judging || f.Steps != 1 ||
		f.Clients != 2 || len(f.Deviations) != 0 || f.Runs != 1 {
		t.Errorf("the second runner's flight is %+v", f)
	}
	want := []engine.Deviation{{Index: 4, Step: expire}, {Index: 8, Step: follower}}
	if f := flights[1]; f.Schedule != 10 || f.State != flightrecorder.Running || f.Steps != 9 ||
		f.Runs != 2 || !slices.Equal(f.Deviations, want) ||
		f.Dimensions != scenario.Dimensions() {
		t.Errorf("the first runner's flight is %+v", f)
	}

	if !r.Progress(nil).Stuck(before) {
		t.Error("the first runner has made no progress and does not count as stuck")
	}
	first.Decide(9, sim.Step{}, false)
	if r.Progress(nil).Stuck(before) {
		t.Error("a runner that has made progress, or runs nothing, counts as stuck")
	}
}
