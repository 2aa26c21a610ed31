package strategy_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// Mutations of the schedules that came closest come closer than as many random schedules, or find
// nothing closer than the random ones among them. They do not depend on the number of workers.
func TestMarginComesCloser(t *testing.T) {
	plan, err := faults.Parse("partition-server@hold=1")
	if err != nil {
		t.Fatal(err)
	}
	smallest := func(name string, seed uint64, workers int) (time.Duration, string) {
		c := &campaign.Campaign{
			Scenario: *locktest.Scenario(locktest.Named(t, "mutex"), 2, 1, 0), Seed: seed,
			Schedules: long.Count(1, 2) * 1024, Workers: workers, Strategy: name,
		}
		c.Scenario.Servers, c.Scenario.Faults = 3, plan
		r := c.Run(t.Context(), t)
		if r.Failure != nil || r.Nondeterministic != nil {
			t.Fatalf("%s: %v, %v", name, r.Failure, r.Nondeterministic)
		}
		m := r.Totals.Margins[check.LossToGrant]
		if m.Times == 0 {
			t.Fatalf("%s measured no margin", name)
		}
		return m.Smallest, fmt.Sprintf("%x %+v", r.Digest, r.Totals.Margins)
	}
	seeds, closer, first := long.Count(1, 4), 0, ""
	for seed := uint64(1); seed <= uint64(seeds); seed++ {
		random, _ := smallest(strategy.RandomName, seed, 2)
		mutated, all := smallest(strategy.MarginName, seed, 1)
		if mutated > random {
			t.Errorf("seed %d: the smallest margin is %v, that of random schedules %v", seed,
				mutated, random)
		}
		if mutated < random {
			closer++
		}
		if seed == 1 {
			first = all
		}
	}
	if closer < (seeds+1)/2 {
		t.Errorf("mutations came closer with %d of %d seeds", closer, seeds)
	}
	if !long.Enabled() {
		return
	}
	if _, got := smallest(strategy.MarginName, 1, 3); got != first {
		t.Errorf("3 workers: %s, want %s", got, first)
	}
}

// On one server, where no timer has a phase, the strategy changes all else.
func TestMarginWithoutPhases(t *testing.T) {
	c := &campaign.Campaign{
		Scenario: locktest.Planned(t, locktest.Named(t, "mutex"), 2, 1, "cut=1"), Seed: 1,
		Schedules: 2100, Workers: 1, Strategy: strategy.MarginName,
	}
	r := c.Run(t.Context(), t)
	if r.Schedules != c.Schedules || r.Totals.Margins[check.LossToGrant].Times == 0 {
		t.Errorf("%d schedules, margins %v", r.Schedules, r.Totals.Margins)
	}
}

// Several workers mutate the timings of the same near misses at once, so that the race detector
// notices if a mutation changes one in place. The near misses are those of the first round: each of
// its schedules has a timing, and a schedule with a margin leaves one.
func TestNearMissesAreShared(t *testing.T) {
	run := func(schedules, workers int) *report.Campaign {
		c := &campaign.Campaign{
			Scenario: locktest.Planned(t, locktest.Named(t, "mutex"), 2, 1,
				"partition-server@hold=1"),
			Seed: 1, Schedules: schedules, Workers: workers, Strategy: strategy.MarginName,
		}
		c.Scenario.Servers = 3
		r := c.Run(t.Context(), t)
		if r.Schedules != schedules {
			t.Fatalf("%d schedules, want %d", r.Schedules, schedules)
		}
		return r
	}
	if r := run(strategy.ChunkSchedules, 1); r.Totals.Margins[check.LossToGrant].Times == 0 {
		t.Fatal("the first chunk leaves no near miss")
	}
	if real.RaceDetector || long.Enabled() {
		run(strategy.FirstDealt+8*strategy.ChunkSchedules, 2)
	}
}
