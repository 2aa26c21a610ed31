package exhaustive_test

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// BenchmarkExhaustive searches all schedules of the production lock like interlock check --strategy
// exhaustive: on one processor, with its GOGC. MB-heap is the maximum heap in use, sampled twice a
// second.
func BenchmarkExhaustive(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(exhaustive.GCPercent))
	for _, tc := range []struct {
		clients, cycles, servers int
		plan                     string
		symmetry                 bool
	}{
		{3, 1, 1, "none", false},
		{4, 1, 1, "none", false},
		{5, 1, 1, "none", true},
		{2, 1, 1, "any=1", false},
		{2, 2, 1, "any=1", false},
		{3, 1, 1, "any=1", false},
		{2, 1, 3, "any=1", false},
	} {
		name := fmt.Sprintf("%dx%d-%s-on-%d", tc.clients, tc.cycles, tc.plan, tc.servers)
		if tc.symmetry {
			name += "-symmetry"
		}
		b.Run(name, func(b *testing.B) {
			plan, err := faults.Parse(tc.plan)
			if err != nil {
				b.Fatal(err)
			}
			s := scenarios.Scenario{
				Subject: subjects.Mutex(), Clients: tc.clients,
				Cycles: tc.cycles,
				Faults: plan,
			}
			if tc.servers > 1 {
				s.Servers = tc.servers
			}
			searchAll(b, s, tc.symmetry)
		})
	}
}

func searchAll(b *testing.B, s scenarios.Scenario, symmetry bool) {
	locktest.RunInTest(b, func(t *testing.T) {
		var r *report.Exhaustive
		var heap uint64
		for range b.N {
			runtime.GC()
			e := &exhaustive.Search{Scenario: s, Symmetry: symmetry}
			e.Progress = func(*report.Exhaustive) {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				heap = max(heap, m.HeapInuse)
			}
			if r = e.Run(context.Background(), t); !r.Complete || r.Failure != nil {
				b.Errorf("complete %v, %+v", r.Complete, r.Failure)
				return
			}
		}
		b.ReportMetric(0, "ns/op") // The metric s replaces it.
		b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s")
		b.ReportMetric(float64(r.States), "states")
		b.ReportMetric(float64(r.Schedules), "schedules")
		b.ReportMetric(float64(r.LocalHistories), "histories")
		if heap > 0 { // Short searches report no progress.
			b.ReportMetric(float64(heap>>20), "MB-heap")
		}
	})
}
