package faults_test

import (
	"testing"

	"github.com/interlock-sim/interlock/faults"
)

// Texts name a phase as a plan does; what is no phase stays as it is.
func TestPhaseKey(t *testing.T) {
	for phase := range faults.Phases {
		if key := faults.PhaseKey(phase.String()); key != phase.Key() {
			t.Errorf("%v is %s, want %s", phase, key, phase.Key())
		}
	}
	if key := faults.PhaseKey("another"); key != "another" {
		t.Errorf("no phase is %s", key)
	}
}
