package conform_test

import (
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/conform"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// frameOptions returns the options of a short run.
func frameOptions(address, reference string, frames int) conform.FrameOptions {
	return conform.FrameOptions{
		Address: address, Reference: reference, Seed: 1, Frames: frames,
		TTL: true, Containers: true, Super: "super:test",
	}
}

// TestFramesMatchReal sends mutated frames to the simulation and to a real server; make frames
// sends more.
func TestFramesMatchReal(t *testing.T) {
	o := frameOptions(startSimulation(t, simzk.V38), startReal(t), 2500)
	rounds := 0
	o.Progress = func(conform.FrameStats) { rounds++ }
	differences, stats, err := conform.DifferFrames(t.Context(), o)
	for _, d := range differences {
		t.Error(d)
	}
	if err != nil || rounds < 2 {
		t.Fatalf("%d rounds, error %v", rounds, err)
	}
	// The absence of differences means little if most frames fail in the same way.
	if stats.Frames != o.Frames || stats.Handshakes < 20 || stats.Ended < 200 ||
		stats.Ended > o.Frames/2 || stats.Codes[wire.OK] < 300 ||
		stats.Codes[wire.MarshallingError] < 300 || len(stats.Listed) == 0 {
		t.Errorf("statistics %+v", stats)
	}
}

// TestFramesDiffer checks that a comparison finds the differences between releases, and goes on
// after one.
func TestFramesDiffer(t *testing.T) {
	differences, stats, err := conform.DifferFrames(t.Context(),
		frameOptions(startSimulation(t, simzk.V38), startSimulation(t, simzk.V39), 1500))
	if len(differences) < 2 || err != nil {
		t.Fatalf("differences %v, %d frames, error %v", differences, stats.Frames, err)
	}
	if first := differences[0]; first.Subject == first.Reference || first.Frame < 1 ||
		!strings.Contains(first.String(), first.Reference) {
		t.Errorf("difference %s", first)
	}
}

// TestFramesOfOneServer checks that a server is not compared with itself.
func TestFramesOfOneServer(t *testing.T) {
	if _, _, err := conform.DifferFrames(t.Context(), frameOptions("a:1", "a:1", 1)); err == nil {
		t.Error("a server was compared with itself")
	}
}
