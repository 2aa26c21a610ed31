package subjects_test

import (
	"path/filepath"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// Behaviors of go-zookeeper/zk v1.0.4 that a lock must take into account. Each schedule was found
// by a search, shrunk and recorded with the real client, and replays deterministically.
func TestHazardsOfTheRealClient(t *testing.T) {
	if real.RaceDetector {
		t.Skip("the race detector shuffles the goroutines of the real client: without it this " +
			"test runs")
	}
	for _, hazard := range []string{
		"retry-protected", // a protected create leaks a node
		"presume-expiry",  // a call that is queued in one session executes in the next
		"heartbeat",       // a watch is lost after a reconnect
		// the client hangs forever when it cannot resend its credentials
		"authenticated",
		"zk-lock", // the lock of the client library leaks a node
	} {
		t.Run(hazard, func(t *testing.T) {
			r, err := recording.Read(filepath.Join("testdata", "hazards",
				hazard+".json"))
			if err != nil {
				t.Fatal(err)
			}
			subject, err := subjects.Named(hazard)
			if err != nil {
				t.Fatal(err)
			}
			scenario, err := r.Scenario(subject)
			if err != nil || scenario.Client != scenarios.Real {
				t.Fatalf("%+v, error %v", scenario, err)
			}
			counterexample, err := recording.NewCounterexample(engine.NewRunner(t), *scenario,
				r.Deviations, r.Signature, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			if got := counterexample.Recording; got.Signature != r.Signature ||
				got.TraceHash != r.TraceHash {
				t.Errorf("%q with trace hash %v, recorded %q with %v", got.Signature, got.TraceHash,
					r.Signature, r.TraceHash)
			}
		})
	}
}

// The lock of the client library leaks a node in one of the first schedules with faults.
func TestZKLock(t *testing.T) {
	scenario := scenarios.Scenario{
		Subject: subjects.ZKLock(), Clients: 2, Cycles: 1,
		Faults: faults.Default(), Client: scenarios.Real,
	}
	runner := engine.NewRunner(t)
	for schedule := range 300 {
		result := runner.Run(&scenario, strategy.NewRandom(1, schedule))
		for _, v := range result.Violations {
			if v.Property == history.NoLeakedNodes {
				return
			}
		}
	}
	t.Error("no schedule leaked a node")
}

// On the real client, the recipe with credentials is correct unless a write fails.
func TestAuthenticated(t *testing.T) {
	scenario := scenarios.Scenario{
		Subject: subjects.Authenticated(), Clients: 3, Cycles: 2,
		Faults: faults.Default(), Client: scenarios.Real,
	}
	runner := engine.NewRunner(t)
	for schedule := range long.Count(50, 500) {
		if result := runner.Run(&scenario,
			strategy.NewRandom(1, schedule)); len(result.Violations) > 0 {
			t.Fatalf("schedule %d: %s", schedule, result.Describe(&scenario))
		}
	}
}

// With the real client, too, a repeated schedule yields the same history.
func TestRealClientIsDeterministic(t *testing.T) {
	if real.RaceDetector {
		t.Skip("the race detector shuffles the goroutines of the real client: without it this " +
			"test runs")
	}
	scenario := scenarios.Scenario{
		Subject: subjects.Mutex(), Clients: 3, Cycles: 2,
		Faults: faults.Of(faults.Any, 3), Client: scenarios.Real,
	}
	runner := engine.NewRunner(t)
	for schedule := range long.Count(50, 500) {
		first := runner.Run(&scenario, strategy.NewRandom(2, schedule)).TraceHash
		if second := runner.Run(&scenario,
			strategy.NewRandom(2, schedule)).TraceHash; first != second {
			t.Fatalf("schedule %d: trace hashes %x and %x", schedule, first, second)
		}
	}
}
