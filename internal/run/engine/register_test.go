package engine_test

import (
	"context"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/register"
	"github.com/interlock-sim/interlock/scenarios"
)

// The engine and the searches need nothing of ZooKeeper: they find the defect of a lock on another
// service, and none in its twin.
func TestAnotherService(t *testing.T) {
	broken := scenarios.Scenario{
		Subject: register.Lock("read-then-write", false), Clients: 2,
		Cycles: 1,
	}
	atomic := scenarios.Scenario{
		Subject: register.Lock("compare-and-set", true), Clients: 2, Cycles: 2,
	}
	runner := engine.NewRunner(t)
	found := 0
	for schedule := range 200 {
		if runner.Run(&broken, strategy.NewRandom(1, schedule)).Violations != nil {
			found++
		}
		if r := runner.Run(&atomic, strategy.NewRandom(1, schedule)); r.Violations != nil {
			t.Fatalf("schedule %d: %v", schedule, r.Violations[0])
		}
	}
	if found == 0 || found == 200 {
		t.Errorf("%d of 200 schedules violate mutual exclusion", found)
	}
	search := exhaustive.Search{Scenario: broken}
	r := search.Run(context.Background(), t)
	if r.Failure == nil || r.Failure.Violations[0].Property != history.ClientMutualExclusion {
		t.Errorf("the exhaustive search finds %v", r.Failure)
	}
	search = exhaustive.Search{Scenario: atomic}
	if r := search.Run(context.Background(), t); !r.Complete || r.Failure != nil ||
		r.Schedules != 125 || r.States != 141 {
		t.Errorf("complete: %v, failure %v, %d schedules, %d states, want 125 and 141", r.Complete,
			r.Failure, r.Schedules, r.States)
	}
}

// A fault that the service does not have is refused.
func TestServiceWithoutFault(t *testing.T) {
	s := scenarios.Scenario{Subject: register.Lock("compare-and-set", true), Clients: 2, Cycles: 1}
	s.Faults = faults.Of(faults.Cut, 1)
	err := s.Validate()
	if want := "the service of the lock compare-and-set has no fault cut"; err == nil ||
		err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
