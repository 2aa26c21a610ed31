package engine_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// BenchmarkSchedule measures a schedule of the production lock: 3 processes with one cycle each, a
// random walk without faults, with history and all checkers. It alternates with bubbleFloor and
// reports the ratio of the two.
func BenchmarkSchedule(b *testing.B) {
	scenario := &scenarios.Scenario{
		Subject: subjects.Mutex(), Clients: 3,
		Cycles: 1,
	}
	locktest.RunInTest(b, func(t *testing.T) {
		runner := engine.NewRunner(t)
		var schedules, floor time.Duration
		steps, cached := 0, 0
		b.ReportAllocs()
		b.ResetTimer()
		for i := range b.N {
			began := time.Now()
			result := runner.Run(scenario, strategy.NewRandom(1, i))
			schedules += time.Since(began)
			if len(result.Violations) > 0 {
				b.Error(result.Describe(scenario))
				return
			}
			steps += result.Steps
			if result.VerdictCached {
				cached++
			}
			wakes := wakeUps(result)
			began = time.Now()
			bubbleFloor(t, 3, wakes)
			floor += time.Since(began)
		}
		b.ReportMetric(0, "ns/op") // It would mix the two.
		b.ReportMetric(float64(steps)/float64(b.N), "steps/schedule")
		b.ReportMetric(100*float64(cached)/float64(b.N), "%cached")
		b.ReportMetric(float64(b.N)/schedules.Seconds(), "schedules/s")
		b.ReportMetric(float64(schedules)/float64(floor), "×floor")
	})
}

// BenchmarkRunTwice measures what a campaign spends on the schedules that it runs a second time, in
// percent of all others: the first of each chunk.
func BenchmarkRunTwice(b *testing.B) {
	scenario := &scenarios.Scenario{
		Subject: subjects.Mutex(), Clients: 3,
		Cycles: 1,
	}
	locktest.RunInTest(b, func(t *testing.T) {
		runner := engine.NewRunner(t)
		var once, again time.Duration
		b.ResetTimer()
		for i := range b.N {
			began := time.Now()
			result := runner.Run(scenario, strategy.NewRandom(1, i))
			once += time.Since(began)
			if i%strategy.ChunkSchedules != 0 {
				continue
			}
			began = time.Now()
			if n := runner.RunAgain(b.Context(), scenario, i, strategy.NewRandom(1, i),
				result); n != nil {
				b.Fatal(n)
			}
			again += time.Since(began)
		}
		b.ReportMetric(0, "ns/op") // It would mix the two.
		b.ReportMetric(100*float64(again)/float64(once), "%twice")
	})
}

// BenchmarkScheduleWithFaults measures the default workload of interlock check on one core.
func BenchmarkScheduleWithFaults(b *testing.B) {
	scenario := &scenarios.Scenario{
		Subject: subjects.Mutex(), Clients: 3, Cycles: 2,
		Faults: faults.Default(),
	}
	locktest.RunInTest(b, func(t *testing.T) {
		runner := engine.NewRunner(t)
		steps := 0
		b.ReportAllocs()
		b.ResetTimer()
		for i := range b.N {
			steps += runner.Run(scenario, strategy.NewRandom(1, i)).Steps
		}
		b.ReportMetric(float64(steps)/float64(b.N), "steps/schedule")
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "schedules/s")
	})
}

// BenchmarkServers runs the default schedules on one, three and five servers in turn. It reports
// the cost of a step on several servers relative to one server.
func BenchmarkServers(b *testing.B) {
	sizes := [...]int{1, 3, 5}
	locktest.RunInTest(b, func(t *testing.T) {
		runner := engine.NewRunner(t)
		var spent [len(sizes)]time.Duration
		var steps [len(sizes)]int
		for i := range b.N {
			for size, servers := range sizes {
				scenario := &scenarios.Scenario{
					Subject: subjects.Mutex(), Clients: 3, Cycles: 2,
					Faults: faults.Default(), Servers: servers,
				}
				began := time.Now()
				steps[size] += runner.Run(scenario, strategy.NewRandom(1, i)).Steps
				spent[size] += time.Since(began)
			}
		}
		b.ReportMetric(0, "ns/op") // It would mix the sizes.
		perStep := func(size int) float64 { return spent[size].Seconds() / float64(steps[size]) }
		for size, servers := range sizes {
			b.ReportMetric(float64(b.N)/spent[size].Seconds(), fmt.Sprintf("schedules/s-on-%d",
				servers))
			if size > 0 {
				b.ReportMetric(perStep(size)/perStep(0), fmt.Sprintf("×step-on-%d", servers))
			}
		}
	})
}

// wakeUps counts how often a run has woken a goroutine: by a reply, a watch event, a gate or the
// passing of time, and when one goroutine of the lock passes a grant, a release or its confirmation
// to another.
func wakeUps(result *engine.Result) int {
	wakes := 0
	for _, e := range result.Events {
		switch e.Kind {
		case history.Reply, history.WatchEvent, history.Enter, history.Leave, history.Tick,
			history.LockReturn, history.UnlockCall, history.UnlockReturn:
			wakes++
		}
	}
	return wakes
}

// bubbleFloor measures the lower bound of a schedule: a bubble with two goroutines per process and
// the same number of wake-ups, one at a time.
func bubbleFloor(t *testing.T, processes, wakes int) {
	synctest.Test(t, func(*testing.T) {
		channels := make([]chan struct{}, 2*processes)
		for i := range channels {
			channels[i] = make(chan struct{})
			go func() {
				for range channels[i] {
				}
			}()
		}
		synctest.Wait()
		for i := range wakes {
			channels[i%len(channels)] <- struct{}{}
			synctest.Wait()
		}
		for _, channel := range channels {
			close(channel)
		}
	})
}
