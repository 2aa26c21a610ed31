package strategy_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// preparing is a lock that sends 25 requests before it creates its node.
func preparing() scenarios.Subject {
	return locktest.Subject("preparing", func(p *scenarios.Process) scenarios.LockerFunc {
		textbook := subjects.Textbook()
		locker, err := textbook.Open(p)
		return func(ctx context.Context) (*scenarios.Hold, error) {
			for range 25 {
				if _, _, readErr := p.Client.Exists(p.Directory); readErr != nil || err != nil {
					return nil, fmt.Errorf("not prepared: %w, %w", readErr, err)
				}
			}
			return locker.Lock(ctx)
		}
	})
}

// With aims, more than twice as many schedules have a fault while the process holds a lock that it
// takes long to prepare for.
func TestAimedAtRarePhases(t *testing.T) {
	scenario := locktest.Scenario(preparing(), 1, 1, 1)
	runner := engine.NewRunner(t)
	profile := strategy.ProfileOf(t.Context(), runner, scenario)
	struck := map[string]int{}
	schedules := long.Count(800, 1600)
	for schedule := range schedules {
		name := strategy.RoundRobin(schedule)
		plain := strategy.Named(name)(profile, 1, schedule)
		for how, s := range map[string]engine.Strategy{
			"plain": plain,
			"aimed": strategy.Aimed(strategy.Named(name)(profile, 1, schedule), profile, 1, schedule),
		} {
			result := runner.Run(scenario, s)
			for kind := range faults.Kinds {
				struck[how] += result.Coverage[kind][faults.Holding]
			}
		}
	}
	if struck["aimed"] < 2*struck["plain"] || struck["plain"] == 0 {
		t.Errorf("faults of a holder in %d schedules: %v", schedules, struck)
	}
}

// A strategy that aims draws the same schedules as long as no fault is possible.
func TestAimedWithoutFaults(t *testing.T) {
	scenario := locktest.Scenario(subjects.Textbook(), 3, 1, 0)
	runner := engine.NewRunner(t)
	profile := strategy.ProfileOf(t.Context(), runner, scenario)
	for schedule := range 64 {
		make := strategy.Named(strategy.RoundRobin(schedule))
		plain := runner.Run(scenario, make(profile, 1, schedule)).TraceHash
		aimed := strategy.Aimed(make(profile, 1, schedule), profile, 1, schedule)
		if got := runner.Run(scenario, aimed).TraceHash; got != plain {
			t.Errorf("schedule %d differs", schedule)
		}
	}
}

// A portfolio tries a cell the more often, the fewer faults have struck in it, and the tries do not
// depend on the number of workers.
func TestPortfolioAimsAtRareCells(t *testing.T) {
	var want string
	for _, workers := range []int{1, 3} {
		c := &campaign.Campaign{
			Scenario: locktest.Planned(t, subjects.Mutex(), 2, 1, "expire=1"),
			Seed:     5, Workers: workers,
			Schedules: long.Count(strategy.FirstDealt+4*strategy.ChunkSchedules, 6*1024),
		}
		r := c.Run(t.Context(), t)
		got := fmt.Sprint(r.Digest, r.Coverage[faults.Expire], r.Strategies)
		if want == "" {
			want = got
		} else if got != want {
			t.Errorf("%d workers: %s, want %s", workers, got, want)
		}
	}
}
