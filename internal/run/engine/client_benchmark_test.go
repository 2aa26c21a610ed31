package engine_test

import (
	"testing"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// BenchmarkScheduleReal runs the schedules of BenchmarkScheduleWithFaults on the real client and on
// the model client in turn, and reports the ratio.
func BenchmarkScheduleReal(b *testing.B) {
	scenario := scenarios.Scenario{
		Subject: subjects.Mutex(), Clients: 3, Cycles: 2,
		Faults: faults.Default(),
	}
	locktest.RunInTest(b, func(t *testing.T) {
		runner := engine.NewRunner(t)
		var took [2]time.Duration
		b.ResetTimer()
		for i := range b.N {
			for client := range took {
				scenario.Client = scenarios.ClientKind(client)
				began := time.Now()
				runner.Run(&scenario, strategy.NewRandom(1, i))
				took[client] += time.Since(began)
			}
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(b.N)/took[scenarios.Real].Seconds(), "schedules/s")
		b.ReportMetric(float64(took[scenarios.Real])/float64(took[scenarios.Model]), "×model")
	})
}
