package subjects_test

import (
	"strings"
	"testing"

	"github.com/interlock-sim/interlock"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// search runs random schedules and returns the result and number of the first that fails, or nil.
func search(t *testing.T, subject scenarios.Subject, clients, cycles, schedules int,
	plan faults.Plan,
) (*engine.Result, int) {
	t.Helper()
	scenario := &scenarios.Scenario{
		Subject: subject, Clients: clients, Cycles: cycles,
		Faults: plan,
	}
	runner := engine.NewRunner(t)
	for i := range schedules {
		if result := runner.Run(scenario, strategy.NewRandom(1, i)); len(result.Violations) > 0 {
			return result, i
		}
	}
	return nil, schedules
}

// sampled returns how many of the schedules a search runs: all, or a tenth under the race detector.
// There a schedule takes ten times as long, and reports a race as soon as any does.
func sampled(schedules int) int {
	if real.RaceDetector {
		return schedules / 10
	}
	return schedules
}

func TestCorrectLocks(t *testing.T) {
	for _, subject := range []scenarios.Subject{
		subjects.Mutex(), subjects.Textbook(), subjects.Herd(),
		subjects.Careful(),
	} {
		t.Run(subject.Name, func(t *testing.T) {
			for _, tc := range []struct {
				clients, cycles, schedules int
				plan                       faults.Plan
			}{
				{1, 3, 500, faults.Default()},
				{2, 2, 1000, faults.Of(faults.Any, 4)},
				{3, 2, 1500, faults.Default()},
				{5, 1, 500, faults.Of(faults.Any, 3)},
				{2, 2, 500, faults.MustParse("cut=6,lose-reply=3")},
			} {
				schedules := sampled(long.Count(tc.schedules/25, tc.schedules))
				if result, i := search(t, subject, tc.clients, tc.cycles, schedules,
					tc.plan); result != nil {
					scenario := &scenarios.Scenario{
						Subject: subject, Clients: tc.clients,
						Cycles: tc.cycles,
						Faults: tc.plan,
					}
					t.Errorf("%v, schedule %d:\n%s", scenario, i, result.Describe(scenario))
				}
			}
		})
	}
}

// Each kind of fault that removes a waiting predecessor exposes no-recheck.
func TestNoRecheckByEachFault(t *testing.T) {
	for _, kind := range []faults.Kind{
		faults.Cut, faults.LoseReply, faults.Expire, faults.Crash,
		faults.Cancel,
	} {
		plan := faults.Of(kind, 1)
		if result, _ := search(t, subjects.NoRecheck(), 3, 2, 3000, plan); result == nil {
			t.Errorf("one %v: no schedule failed", kind)
		}
	}
}

func TestNamed(t *testing.T) {
	for _, subject := range subjects.All() {
		got, err := subjects.Named(subject.Name)
		if err != nil || got.Name != subject.Name || got.Summary == "" || len(got.Claims) == 0 {
			t.Errorf("Named(%q) = %+v, %v", subject.Name, got, err)
		}
	}
	if twin, err := subjects.Named("no-guid-fixed"); err != nil || twin.Name != "no-guid-fixed" {
		t.Errorf("Named of a lock without its defect: %q, %v", twin.Name, err)
	}
	_, err := subjects.Named("nosuch")
	if err == nil {
		t.Fatal("Named returns a lock that does not exist")
	}
	for _, subject := range subjects.All() {
		if !strings.Contains(err.Error(), " "+subject.Name) {
			t.Errorf("Named of an unknown lock: %v, which does not list %s", err, subject.Name)
		}
	}
}

func TestMutexUnderRapid(t *testing.T) {
	interlock.CheckRapid(t, scenarios.Scenario{
		Subject: subjects.Mutex(), Clients: 3, Cycles: 1,
		Faults: faults.Default(),
	})
}

func FuzzMutex(f *testing.F) {
	interlock.Fuzz(f, scenarios.Scenario{
		Subject: subjects.Mutex(), Clients: 3, Cycles: 1,
		Faults: faults.Default(),
	})
}
