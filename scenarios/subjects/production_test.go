package subjects_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// The locks of package lock keep their claims under all faults.
func TestProductionLocks(t *testing.T) {
	for _, subject := range []scenarios.Subject{
		subjects.TryLock(), subjects.Reentrant(), subjects.RWMutex(), subjects.Semaphore(),
		subjects.Multi(), subjects.Election(), subjects.DoubleBarrier(), subjects.Barrier(),
		subjects.Session(), subjects.SequenceOverflow(), subjects.Prefixed(),
		subjects.Refused(),
	} {
		t.Run(subject.Name, func(t *testing.T) {
			for _, tc := range []struct {
				clients, cycles, schedules int
				plan                       faults.Plan
			}{
				{1, 3, 200, faults.Default()},
				{3, 2, 500, faults.Default()},
				{4, 2, 250, faults.Of(faults.Any, 4)},
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

// With the model client and the real client, the same decisions yield the same history. Multi is
// omitted: several of its goroutines send requests at once, and Go's scheduler decides the order in
// which the real client queues them.
func TestProductionLocksOnTheRealClient(t *testing.T) {
	if real.RaceDetector {
		t.Skip("the race detector shuffles the goroutines of the real client: without it this " +
			"test runs")
	}
	runner := engine.NewRunner(t)
	for _, subject := range []scenarios.Subject{
		subjects.TryLock(), subjects.Reentrant(), subjects.RWMutex(), subjects.Semaphore(),
		subjects.Election(), subjects.DoubleBarrier(), subjects.Barrier(),
	} {
		scenario := scenarios.Scenario{
			Subject: subject, Clients: 3, Cycles: 2,
			Faults: planForBothClients(1),
		}
		for schedule := range long.Count(8, 60) {
			strategy := func() engine.Strategy { return strategy.NewRandom(3, schedule) }
			if found := difference(runner, scenario, strategy); found != "" {
				t.Fatalf("%v, schedule %d: %s", &scenario, schedule, found)
			}
		}
	}
}

// Runs with overflowing sequence numbers do assign several nodes the same number, and a lock that
// compares only numbers violates mutual exclusion.
func TestSequenceOverflow(t *testing.T) {
	naive := subjects.Textbook()
	naive.Sequence = subjects.SequenceOverflow().Sequence
	broken := false
	runner := engine.NewRunner(t)
	for schedule := range long.Count(30, 100) {
		scenario := scenarios.Scenario{
			Subject: subjects.SequenceOverflow(), Clients: 3, Cycles: 2,
			Servers: 1 + 2*(schedule%2),
		}
		last := make(map[string]bool)
		overflowed := runner.Run(&scenario, strategy.NewRandom(4, schedule))
		if len(overflowed.Violations) > 0 {
			t.Fatalf("schedule %d:\n%s", schedule, overflowed.Describe(&scenario))
		}
		for _, e := range overflowed.Events {
			if e.Kind == history.Reply && strings.HasSuffix(e.Path, "-2147483647") &&
				e.Op == "create" {
				last[e.Path] = true
			}
		}
		if len(last) < 2 {
			t.Errorf("schedule %d: only the nodes %v have the last number", schedule, last)
		}
		scenario.Subject = naive
		result := runner.Run(&scenario, strategy.NewRandom(4, schedule))
		broken = broken || slices.ContainsFunc(result.Violations,
			func(v *history.Violation) bool { return v.Property == history.ServerMutualExclusion })
	}
	if !broken {
		t.Error("the textbook recipe, which compares only numbers, violated nothing")
	}
}
