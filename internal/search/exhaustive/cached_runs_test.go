package exhaustive_test

import (
	"testing"
	"time"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// BenchmarkCachedRuns runs the schedules of BenchmarkSchedule with the cached reactions of an
// exhaustive search, alternating with runs of the code. It reports the cost of a cached schedule
// relative to a run, and the number of local histories that each schedule of the second half adds.
func BenchmarkCachedRuns(b *testing.B) {
	scenario := &scenarios.Scenario{
		Subject: subjects.Mutex(), Clients: 3,
		Cycles: 1,
	}
	locktest.RunInTest(b, func(t *testing.T) {
		runner, rehearse := engine.NewRunner(t), exhaustive.CachedRunner(t, scenario)
		var rehearsed, run time.Duration
		histories, half := 0, 0
		for i := range b.N {
			began := time.Now()
			var hash uint64
			hash, histories = rehearse(strategy.NewRandom(1, i))
			rehearsed += time.Since(began)
			if i == b.N/2 {
				half = histories
			}
			began = time.Now()
			if result := runner.Run(scenario, strategy.NewRandom(1, i)); result.TraceHash != hash {
				b.Errorf("schedule %d differs between cache and run", i)
			}
			run += time.Since(began)
		}
		b.ReportMetric(0, "ns/op") // It would mix the two.
		b.ReportMetric(float64(rehearsed)/float64(run), "×run")
		b.ReportMetric(float64(histories-half)/float64(b.N-b.N/2), "histories/schedule")
	})
}
