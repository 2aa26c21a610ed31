package engine_test

import (
	"testing"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/sim"
)

// Faults that are restricted to an instant are enabled exactly there.
func TestInstants(t *testing.T) {
	for _, test := range []struct {
		plan  string
		steps []string
		want  bool
	}{
		{"cut@before-ping=1", []string{"shift c1 32", "before"}, true},
		{"cut@before-ping=1", []string{"shift c1 32", "after"}, false},
		{"cut@before-ping=1", []string{"shift expiry 16", "before"}, false},
		{"cut@before-ping=1", nil, false},
		{"kill-server:s3@before-ping=1", []string{"shift c1 32", "before"}, false},
		{"kill-server:s1@before-ping=1", []string{"shift c1 32", "before"}, true},
		{"cut@before-expiry=1", []string{"shift expiry 16", "before"}, true},
		{"cut@before-expiry=1", []string{"shift expiry 16", "after"}, false},
		{"cut@after-reply=1", []string{"serve c1"}, false},
		{"cut@after-reply=1", []string{"serve c1", "deliver c1"}, true},
		{"cut@after-reply=1", []string{"serve c1", "deliver c1", "serve c1"}, false},
	} {
		scenario := locktest.Planned(t, subjects.Textbook(), 1, 1, test.plan)
		if scenario.Servers = 3; len(test.steps) > 0 && test.steps[0] == "serve c1" {
			scenario.Servers = 0
		}
		follow := &steps{t: t, names: test.steps}
		engine.NewRunner(t).Run(&scenario, follow)
		if follow.fault != test.want {
			t.Errorf("%s after %q: enabled %v, want %v", test.plan, test.steps, follow.fault,
				test.want)
		}
	}
}

// steps takes steps by name and notes whether a fault is enabled after them.
type steps struct {
	t     *testing.T
	names []string
	fault bool
	taken int
}

func (s *steps) Choose(_ int, enabled []sim.EnabledStep, defaultIndex int) int {
	if s.taken++; s.taken == len(s.names)+1 {
		s.fault = enabled[len(enabled)-1].Kind == sim.Fault
	}
	if s.taken > len(s.names) {
		return defaultIndex
	}
	step, err := sim.ParseStep(s.names[s.taken-1])
	if err != nil {
		s.t.Fatal(err)
	}
	if step.Unlisted() {
		return engine.Ask(step)
	}
	for i := range enabled {
		if enabled[i].Step == step {
			return i
		}
	}
	s.t.Fatalf("%v is not enabled: %v", step, enabled)
	return defaultIndex
}

// A plan with an instant that never comes is refused in one line.
func TestInstantsFit(t *testing.T) {
	for _, test := range []struct {
		scenario scenarios.Scenario
		want     string
	}{
		{locktest.Planned(t, subjects.Mutex(), 1, 1, "cut@before-ping=1"), ""},
	} {
		got := ""
		if err := test.scenario.Validate(); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%v: %q, want %q", test.scenario.Faults, got, test.want)
		}
	}
	real := locktest.Planned(t, subjects.Mutex(), 1, 1, "cut@before-ping=1")
	real.Client = scenarios.Real
	if err := real.Validate(); err == nil || err.Error() != "the fault cut@before-ping needs the "+
		"modelled client: another client keeps its own time" {
		t.Error(err)
	}
}
