package locktest

import (
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// Planned returns a scenario with the given fault plan. An invalid plan ends the test.
func Planned(t *testing.T, subject scenarios.Subject, clients, cycles int,
	plan string,
) scenarios.Scenario {
	t.Helper()
	parsed, err := faults.Parse(plan)
	if err != nil {
		t.Fatal(err)
	}
	return scenarios.Scenario{
		Subject: subject, Clients: clients, Cycles: cycles, Faults: parsed,
	}
}

// Named returns the bundled lock on ZooKeeper of that name. An unknown name ends the test.
func Named(t testing.TB, name string) scenarios.Subject {
	t.Helper()
	return Find(t, name, subjects.All())
}

// Find returns the lock of that name, as [subjects.Find] does. An unknown name ends the test.
func Find(t testing.TB, name string, all []scenarios.Subject) scenarios.Subject {
	t.Helper()
	subject, err := subjects.Find(name, all)
	if err != nil {
		t.Fatal(err)
	}
	return subject
}

// Scenario returns a scenario with so many faults of any kind.
func Scenario(subject scenarios.Subject, clients, cycles, anyFaults int) *scenarios.Scenario {
	return &scenarios.Scenario{
		Subject: subject, Clients: clients, Cycles: cycles,
		Faults: faults.Of(faults.Any, uint16(anyFaults)),
	}
}
