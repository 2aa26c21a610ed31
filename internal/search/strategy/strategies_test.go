package strategy_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

func TestParseStrategy(t *testing.T) {
	for _, name := range append(strategy.Names(), "pct1", "pct10", "delay5") {
		if factory, err := strategy.Parse(name); err != nil || factory == nil {
			t.Errorf("%q: error %v", name, err)
		}
	}
	for _, name := range []string{
		"", "luck", "pct0", "pct-1", "pctx", "pct1001", "pos3", "delay0",
		"Random", "exhaustive",
	} {
		if _, err := strategy.Parse(name); err == nil {
			t.Errorf("%q is accepted as a strategy", name)
		}
	}
}

// Every strategy draws equal schedules for equal seeds and numbers, and different schedules for
// different numbers.
func TestStrategiesAreDeterministic(t *testing.T) {
	runner := engine.NewRunner(t)
	s := locktest.Scenario(subjects.Textbook(), 3, 2, 3)
	profile := strategy.ProfileOf(context.Background(), runner, s)
	for _, name := range strategy.Names() {
		factory, err := strategy.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		hashes := make(map[uint64]bool)
		for schedule := range 50 {
			hash := runner.Run(s, factory(profile, 9, schedule)).TraceHash
			if again := runner.Run(s, factory(profile, 9, schedule)).TraceHash; again != hash {
				t.Errorf("%s: schedule %d differs", name, schedule)
			}
			hashes[hash] = true
		}
		if len(hashes) < 25 {
			t.Errorf("%s: only %d of 50 schedules are distinct", name, len(hashes))
		}
	}
}

// The failure that a portfolio finds, and the strategy that finds it, do not depend on the number
// of workers.
func TestPortfolioWorkers(t *testing.T) {
	var want string
	for _, workers := range []int{1, 3} {
		c := &campaign.Campaign{
			Scenario: *locktest.Scenario(subjects.NoGUID(), 3, 2, 2), Seed: 7, Schedules: 2000,
			Workers:  workers,
			Strategy: strategy.PortfolioName,
		}
		r := c.Run(context.Background(), t)
		if r.Failure == nil {
			t.Fatal("the campaign found no violation")
		}
		total := 0
		for _, share := range r.Strategies {
			total += share.Schedules
			if share.Failed != (share.Strategy == r.Failure.Strategy) {
				t.Errorf("%+v, but %s found the failure", share, r.Failure.Strategy)
			}
		}
		if total != r.Schedules ||
			!slices.ContainsFunc(r.Strategies,
				func(s report.StrategyStats) bool { return s.Failed }) {
			t.Errorf("%d schedules by strategy, %d in total: %+v", total, r.Schedules, r.Strategies)
		}
		got := fmt.Sprint(r.Schedules, r.Steps, r.States, r.Digest, r.Failure.Strategy,
			r.Strategies)
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%d workers: %s, want %s", workers, got, want)
		}
	}
}

// The portfolio assigns more schedules to strategies that keep finding new behaviours, and none
// less than half of an even share, for any number of workers.
func TestPortfolioFavorsNewBehaviours(t *testing.T) {
	var want string
	for _, workers := range long.Sample([]int{3, 1}, 1) {
		c := &campaign.Campaign{
			Scenario: *locktest.Scenario(subjects.Textbook(), 3, 1, 1), Seed: 3,
			Schedules: long.Count(3, 6) * 1024,
			Workers:   workers,
			Strategy:  strategy.PortfolioName,
		}
		r := c.Run(context.Background(), t)
		if r.Failure != nil || r.Nondeterministic != nil {
			t.Fatalf("%v, %v", r.Failure, r.Nondeterministic)
		}
		best, least, most := r.Strategies[0], r.Schedules, 0
		for _, share := range r.Strategies {
			if share.Behaviours == 0 {
				t.Errorf("%s found no new behaviour: %+v", share.Strategy, r.Strategies)
			}
			if share.Behaviours*best.Schedules > best.Behaviours*share.Schedules {
				best = share
			}
			least, most = min(least, share.Schedules), max(most, share.Schedules)
		}
		even := r.Schedules / len(r.Strategies)
		if best.Schedules < even || least < even/2 || least == most {
			t.Errorf("an even share is %d schedules; the best strategy is %+v of %+v", even, best,
				r.Strategies)
		}
		if got := fmt.Sprintf("%x %+v", r.Digest, r.Strategies); want == "" {
			want = got
		} else if got != want {
			t.Errorf("%d workers: %s, want %s", workers, got, want)
		}
	}
}
