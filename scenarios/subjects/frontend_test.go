package subjects_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// difference runs a schedule with both clients and describes the first event in which the histories
// differ, or returns the empty string.
func difference(runner *engine.Runner, scenario scenarios.Scenario,
	strategy func() engine.Strategy,
) string {
	scenario.Client = scenarios.Model
	first := runner.Run(&scenario, strategy())
	model, decisions := withoutTimeJump(first.Events), first.Deviations
	scenario.Client = scenarios.Real
	real := runner.Run(&scenario, strategy()).Events
	for i := range max(len(model), len(real)) {
		switch {
		case i >= len(model):
			return fmt.Sprintf("event %d: only the real client has %+v\n%v", i, real[i], decisions)
		case i >= len(real):
			return fmt.Sprintf("event %d: only the model has %+v\n%v", i, model[i], decisions)
		case model[i] != real[i]:
			return fmt.Sprintf("event %d:\nmodel %+v\nreal  %+v\nafter %+v\n%v", i, model[i],
				real[i],
				model[max(0, i-6):i], decisions)
		}
	}
	return ""
}

// withoutTimeJump returns the events as if time had not jumped once the run was idle. Only runs
// with the model client jump.
func withoutTimeJump(events []history.Event) []history.Event {
	events = slices.Clone(events)
	jumped := time.Duration(0)
	for i := range events {
		events[i].At -= jumped
		if i > 0 && events[i].Kind == history.Tick && events[i].At-events[i-1].At > time.Minute {
			jumped = events[i].At - events[i-1].At - time.Second
			events[i].At -= jumped
		}
	}
	return events
}

// modelClientLocks returns the bundled locks that run with either client. It omits locks in which
// several goroutines of a process send requests at the same instant, such as an attempt and the
// removal of the node of an earlier one, which has given up: Go's scheduler decides the order in
// which the real client queues them.
func modelClientLocks() []scenarios.Subject {
	several := []string{"multi", "careful", "late-notice", "deadline-retry", "trylock"}
	return slices.DeleteFunc(subjects.All(), func(s scenarios.Subject) bool {
		return s.Real || s.Service != nil || slices.Contains(several, s.Name)
	})
}

// planForBothClients returns a plan of the given number of faults of each kind that applies to both
// clients. A timer of the real client goes on while its process is paused, so time can stop at
// other instants: pauses have tests of their own.
func planForBothClients(each uint16, but ...faults.Kind) (plan faults.Plan) {
	for kind := range faults.AnyKinds {
		if kind != faults.Pause && !slices.Contains(but, kind) {
			plan.Add(faults.Entry{Kind: kind, Left: each})
		}
	}
	return plan
}

// With several threads too, the same decisions yield the same history with both clients: each
// request belongs to the thread that made it.
func TestThreadsOfTheRealClient(t *testing.T) {
	if real.RaceDetector {
		t.Skip("the race detector shuffles the goroutines of the real client")
	}
	runner := engine.NewRunner(t)
	for _, lock := range []scenarios.Subject{
		subjects.Mutex(), subjects.Textbook(), subjects.Semaphore3(),
	} {
		plans := []string{"none", "cut=1,lose-reply=1", "expire=1,crash=1"}
		if lock.Name == "textbook" {
			// After a reconnect, its protected creates send indistinguishable requests.
			plans = plans[:1]
		}
		for _, plan := range plans {
			parsed, err := faults.Parse(plan)
			if err != nil {
				t.Fatal(err)
			}
			scenario := scenarios.Scenario{
				Subject: lock, Clients: 2, Threads: 2, Cycles: 2, Faults: parsed,
			}
			for schedule := range long.Count(8, 40) {
				strategy := func() engine.Strategy { return strategy.NewRandom(3, schedule) }
				if found := difference(runner, scenario, strategy); found != "" {
					t.Fatalf("%v, schedule %d: %s", &scenario, schedule, found)
				}
			}
		}
	}
}

// The model client behaves like the real client: for every lock, schedule and fault plan, the same
// decisions yield the same history.
func TestModelIsTheRealClient(t *testing.T) {
	if real.RaceDetector {
		t.Skip("the race detector shuffles the goroutines of the real client: without it this " +
			"test runs")
	}
	runner := engine.NewRunner(t)
	rapid.Check(t, func(t *rapid.T) {
		each := rapid.Uint16Range(0, 3).Draw(t, "faults")
		plan := planForBothClients(each)
		if rapid.Bool().Draw(t, "links") {
			// After a reconnect, two canceled attempts of one process send indistinguishable
			// requests.
			plan = planForBothClients(each, faults.Cancel)
			for _, kind := range []faults.Kind{
				faults.Unreachable, faults.PartitionLink, faults.PartitionLinkOneway,
			} {
				plan.Add(faults.Entry{Kind: kind, Left: 2})
			}
		}
		scenario := scenarios.Scenario{
			Subject: rapid.SampledFrom(modelClientLocks()).Draw(t, "lock"),
			Clients: rapid.IntRange(1, 4).Draw(t, "clients"), Cycles: rapid.IntRange(1, 3).Draw(t,
				"cycles"),
			Faults:  plan,
			Servers: rapid.IntRange(1, 4).Draw(t, "servers"),
		}
		seed := rapid.Uint64().Draw(t, "seed")
		for schedule := range long.Count(2, 5) {
			strategy := func() engine.Strategy { return strategy.NewRandom(seed, schedule) }
			if found := difference(runner, scenario, strategy); found != "" {
				t.Fatalf("%v, schedule %d: %s", &scenario, schedule, found)
			}
		}
	})
}
