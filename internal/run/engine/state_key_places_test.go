package engine_test

import (
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/sim"
)

// restarts is a strategy that first restarts processes in the given order, and then takes the
// default step.
type restarts []int32

func (r restarts) Choose(index int, enabled []sim.EnabledStep, defaultIndex int) int {
	if index >= len(r) {
		return defaultIndex
	}
	for i, s := range enabled {
		if s.Kind == sim.Fault && s.Fault == faults.Restart && s.Process == r[index] {
			return i
		}
	}
	panic("the process cannot be restarted")
}

// Lock code can read the host of its process. If c1 is restarted before c2, c3 runs on the host of
// c1, otherwise on that of c2. So the states after both restarts differ.
func TestKeysTellHostsApart(t *testing.T) {
	s := locktest.Planned(t, subjects.Textbook(), 2, 1, "restart=2")
	runner, keys := engine.NewRunner(t), make(map[uint64]bool)
	for _, order := range []restarts{{1, 2}, {2, 1}} {
		keys[runner.Run(&s, order).Keys[2]] = true
	}
	if len(keys) != 2 {
		t.Error("both orders of restarts lead to one state")
	}
}
