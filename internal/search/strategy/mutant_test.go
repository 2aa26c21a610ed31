package strategy_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/sim"
)

// A campaign mutates the schedules of its corpus, counts only what they do not show as new, and
// adds to them. It does not depend on the number of workers.
func TestCorpus(t *testing.T) {
	textbook := locktest.Named(t, "textbook")
	configurations := []campaign.Configuration{
		{Scenario: locktest.Planned(t, textbook, 2, 1, "any=1"), Weight: 1},
		{Scenario: locktest.Planned(t, textbook, 2, 1, "any=2"), Weight: 1},
	}
	configurations[1].Servers = 3 // Timers have phases there.
	run := func(corpus *strategy.Corpus, seed uint64, workers int) string {
		c := &campaign.Campaign{
			Scenario: configurations[0].Scenario, Configurations: configurations, Seed: seed,
			Schedules: long.Count(256, 512), Workers: workers, KeepGoing: true, Corpus: corpus,
		}
		r := c.Run(t.Context(), t)
		mutants := *r.Stats(strategy.MutantName)
		if fresh := seed == 1; fresh != (mutants.Schedules == 0) ||
			fresh != (mutants.Behaviours == 0) {
			t.Errorf("seed %d: %+v", seed, mutants)
		}
		if n := len(corpus.Parents); 3*mutants.Schedules > r.Schedules || n == 0 ||
			n > strategy.ParentsMax {
			t.Errorf("%d mutants of %d schedules; %d parents", mutants.Schedules, r.Schedules,
				n)
		}
		return fmt.Sprintf("%x %+v %v %v", r.Digest, r.Strategies, corpus.Behaviours.Sorted(),
			corpus.Parents)
	}
	one, three := new(strategy.Corpus), new(strategy.Corpus)
	for seed := uint64(1); seed <= 2; seed++ {
		if a, b := run(one, seed, 1), run(three, seed, 3); a != b {
			t.Errorf("seed %d: one worker: %.200s, three: %.200s", seed, a, b)
		}
	}
	var shifted [2]bool
	for _, p := range one.Parents {
		for _, d := range p.Deviations {
			shifted[p.Configuration] = shifted[p.Configuration] || d.Step.Kind == sim.Shift
			if d.Step.Kind == sim.Fair {
				t.Errorf("a parent begins the fair phase: %v", p.Deviations)
			}
		}
	}
	if shifted != [2]bool{false, true} {
		t.Errorf("phases of timers are kept by configuration: %v", shifted)
	}
}

// Mutants of a schedule that fails fail much more often than the schedules of other strategies, and
// are seldom alike.
func TestMutantsStayNear(t *testing.T) {
	defects := subjects.Museum()
	requeue := defects[slices.IndexFunc(defects,
		func(d subjects.Defect) bool { return d.Name == "requeue" })]
	c := &campaign.Campaign{
		Scenario: locktest.Planned(t, requeue.Broken, 3, 2, "any=1"), Seed: 1,
		Schedules: long.Count(1000, 2000),
		Workers:   2, Strategy: strategy.RoundRobinName, KeepGoing: true,
	}
	others := c.Run(t.Context(), t)
	if len(others.Distinct) != 1 {
		t.Fatalf("failures %+v", others.Distinct)
	}
	failed := &others.Distinct[0]
	parents := []strategy.Parent{{Deviations: failed.First.Deviations}}
	runner, failures, traces := engine.NewRunner(t), 0, make(map[uint64]bool)
	const schedules = 200
	for schedule := range schedules {
		result := runner.Run(&c.Scenario, strategy.NewMutant(parents, 1, schedule))
		if traces[result.TraceHash] = true; result.Fails(&c.Scenario) {
			failures++
		}
	}
	if failures < 10*failed.Schedules*schedules/others.Schedules || failures < schedules/20 ||
		len(traces) < schedules/2 {
		t.Errorf("%d failures and %d traces of %d mutants; %d failures of %d others", failures,
			len(traces), schedules, failed.Schedules, others.Schedules)
	}
}
