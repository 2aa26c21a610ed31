package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
)

// opensByRequest is a lock without contention whose Open needs an answer of the servers.
func opensByRequest(calls *int) scenarios.Subject {
	s := locktest.Subject("x", nil)
	s.Claims = history.SpinLock()
	s.Open = func(p *scenarios.Process) (scenarios.Locker, error) {
		*calls++
		if _, _, err := p.Client.Exists(p.Directory); err != nil {
			return nil, err
		}
		return scenarios.LockerFunc(func(context.Context) (*scenarios.Hold, error) {
			return nil, errors.New("busy")
		}), nil
	}
	return s
}

// A process whose Open fails after a fault gives up, with a failed attempt.
func TestOpenFailsAfterFault(t *testing.T) {
	plan, err := faults.Parse("cut=1")
	if err != nil {
		t.Fatal(err)
	}
	for _, client := range []scenarios.ClientKind{scenarios.Model, scenarios.Real} {
		calls := 0
		scenario := locktest.Scenario(opensByRequest(&calls), 1, 2, 0)
		scenario.Faults, scenario.Client = plan, client
		runner, failed := engine.NewRunner(t), 0
		for schedule := range 30 {
			calls = 0
			result := runner.Run(scenario, strategy.NewRandom(1, schedule))
			if len(result.Violations) > 0 {
				t.Fatal(result.Describe(scenario))
			}
			failures, returns := 0, 0
			for _, e := range result.Events {
				if e.Kind == history.LockReturn {
					returns++
				}
				if strings.HasPrefix(e.Err, "Subject.Open fails: ") {
					failures++
				}
			}
			if returns != 2-failures || calls != 1 {
				t.Errorf("%d attempts (%d fail to open) and %d calls of Open", returns,
					failures, calls)
			}
			failed += failures
		}
		if failed == 0 {
			t.Errorf("%v client: no Open fails", client)
		}
	}
}

// An Open that fails before any fault is a mistake in the scenario, whatever strikes later.
func TestOpenFailsBeforeFault(t *testing.T) {
	failing := locktest.Subject("x", nil)
	failing.Open = func(p *scenarios.Process) (scenarios.Locker, error) {
		_, _, err := p.Client.Get("/missing")
		return nil, err
	}
	scenario := locktest.Scenario(failing, 2, 2, 3)
	mistakes, runner := 0, engine.NewRunner(t)
	for schedule := range 30 {
		result := runner.Run(scenario, strategy.NewRandom(1, schedule))
		struck := -1
		for i, e := range result.Events {
			if e.Kind == history.Fault && struck < 0 {
				struck = i
			}
			if strings.HasPrefix(e.Err, "Subject.Open fails: ") && struck < 0 {
				if !result.Fails(scenario) || engine.SetUpError(result.Violations[0]) !=
					"Subject.Open fails: zk: node does not exist" {
					t.Fatalf("schedule %d: no mistake:\n%s", schedule, result.Describe(scenario))
				}
				mistakes++
				break
			}
		}
	}
	if mistakes == 0 {
		t.Error("every Open comes after a fault")
	}
}
