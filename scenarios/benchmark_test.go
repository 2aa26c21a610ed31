package scenarios_test

import (
	"testing"
	"testing/synctest"

	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// BenchmarkSchedule is one schedule of the production lock: 3 processes that take it once each, a random walk, no
// faults, with the history and all checkers.
func BenchmarkSchedule(b *testing.B) {
	bubble(b, func(t *testing.T) {
		runner := scenarios.NewRunner(t)
		scenario := &scenarios.Scenario{Subject: subjects.Mutex(), Clients: 3, Cycles: 1}
		steps := 0
		b.ReportAllocs()
		b.ResetTimer()
		for i := range b.N {
			result := runner.Run(scenario, scenarios.NewRandom(1, i))
			if len(result.Violations) > 0 {
				b.Error(result.Describe(scenario))
				return
			}
			steps += result.Steps
		}
		b.ReportMetric(float64(steps)/float64(b.N), "steps/op")
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "schedules/s")
	})
}

var _ = synctest.Wait

// bubble runs f with the *testing.T that a bubble of virtual time needs and a benchmark does not have.
func bubble(b *testing.B, f func(*testing.T)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		testing.RunTests(func(string, string) (bool, error) { return true, nil },
			[]testing.InternalTest{{Name: b.Name(), F: f}})
	}()
	<-done
}
