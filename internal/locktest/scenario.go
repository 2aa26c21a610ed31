package locktest

import (
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/binding"
	"github.com/interlock-sim/interlock/internal/engine"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

func Planned(t *testing.T, subject scenarios.Subject, clients, cycles int,
	plan string,
) engine.Scenario {
	t.Helper()
	parsed, err := faults.Parse(plan)
	if err != nil {
		t.Fatal(err)
	}
	return engine.Scenario{Subject: binding.Subject(subject), Clients: clients, Cycles: cycles, Faults: parsed}
}

func Named(t *testing.T, name string) scenarios.Subject {
	t.Helper()
	subject, err := subjects.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return subject
}

func Scenario(subject scenarios.Subject, clients, cycles, anyFaults int) *engine.Scenario {
	return &engine.Scenario{
		Subject: binding.Subject(subject), Clients: clients, Cycles: cycles,
		Faults: faults.Plan{Any: anyFaults},
	}
}
