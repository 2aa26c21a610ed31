package strategy_test

import (
	"context"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

const (
	seeds        = 20   // per mean
	schedulesMax = 2000 // limit and, without a failure, result of a search
)

// broken returns broken locks that a search with the model client exposes.
func broken() []scenarios.Subject {
	return []scenarios.Subject{
		subjects.NoRecheck(), subjects.ExistsThenWait(), subjects.NoGUID(), subjects.LeakOnError(),
		subjects.DeleteOnce(),
		subjects.DeafToExpiry(), subjects.NameOrder(), subjects.RetryProtected(),
		subjects.PresumeExpiry(),
	}
}

// BenchmarkSchedulesToBug reports the number of schedules until each strategy finds each broken
// lock in the default scenario of interlock check, as a mean over seeds, and how many seeds found
// it.
func BenchmarkSchedulesToBug(b *testing.B) {
	for _, subject := range broken() {
		scenario := &scenarios.Scenario{
			Subject: subject, Clients: 3, Cycles: 2,
			Faults: faults.Default(),
		}
		for _, name := range slices.Concat(strategy.Names(), []string{"pct10"}) {
			b.Run(subject.Name+"/"+name, func(b *testing.B) {
				factory, err := strategy.Parse(name)
				if err != nil {
					b.Fatal(err)
				}
				var schedules, found int
				locktest.RunInTest(b, func(t *testing.T) {
					runner := engine.NewRunner(t)
					profile := strategy.ProfileOf(context.Background(), runner, scenario)
					for seed := range uint64(seeds) {
						for schedule := range schedulesMax {
							schedules++
							if len(runner.Run(scenario,
								factory(profile, seed+1, schedule)).Violations) > 0 {
								found++
								break
							}
						}
					}
				})
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(schedules)/seeds, "schedules")
				b.ReportMetric(float64(found), "found")
			})
		}
	}
}
