package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/cmd/bundled"
	"github.com/interlock-sim/interlock/cmd/internal/judge/hunt"
	"github.com/interlock-sim/interlock/cmd/internal/judge/reportcard"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// targets returns the targets that the flags or the plan describe.
func (f *huntFlags) targets(given func(string) bool) ([]hunt.Target, error) {
	plan := &huntPlan{Locks: []huntGroup{{Names: f.locks}}}
	if given("plan") {
		if given("lock") {
			return nil, errors.New("--plan names the locks; give only one of --plan and --lock")
		}
		var err error
		if plan, err = readHuntPlan(f.plan); err != nil {
			return nil, err
		}
	}
	var targets []hunt.Target
	var named []string
	for i := range plan.Locks {
		named = append(named, plan.Locks[i].Names...)
	}
	for i := range plan.Locks {
		g := &plan.Locks[i]
		for n, name := range g.Names {
			names := []string{name}
			if name == allLocks {
				names = slices.DeleteFunc(huntedByAll(),
					func(name string) bool { return slices.Contains(named, name) })
			}
			for _, name := range names {
				if slices.ContainsFunc(targets,
					func(t hunt.Target) bool { return t.Name == name }) {
					return nil, plan.named(errors.New(name+" is named twice"), i, n)
				}
				target, err := g.target(name, f.workers)
				if err != nil {
					return nil, plan.fixed(err, i)
				}
				targets = append(targets, *target)
			}
		}
	}
	return targets, nil
}

// huntedByAll returns the names of the locks that all stands for: the bundled ones, and the broken
// ones that interlock bugs knows besides.
func huntedByAll() (names []string) {
	for _, s := range bundled.All() {
		if !(s.Real && real.RaceDetector) {
			names = append(names, s.Name)
		}
	}
	for _, d := range subjects.Museum() {
		if !slices.Contains(names, d.Name) {
			names = append(names, d.Name)
		}
	}
	return names
}

// target returns the target for a lock, with the configurations that check has for it. A lock that
// does not use ZooKeeper also has those of its searches in the report card, where each kind of
// fault of its servers strikes by itself.
func (g *huntGroup) target(name string, workers int) (*hunt.Target, error) {
	var check checkFlags
	check.defineFlags(new(cobra.Command)) // for its defaults
	check.lock = name
	fixed := g.fix(&check)
	configurations, err := check.configurations(func(flag string) bool { return fixed[flag] })
	if err != nil {
		return nil, err
	}
	if len(fixed) == 0 {
		configurations = withCardSearches(name, configurations)
	}
	target := &hunt.Target{Name: name, Configurations: configurations, Workers: workers}
	if g.Weight != nil {
		target.Weight = *g.Weight
	}
	flaw, broken := bundled.KnownFlaw(name)
	target.Property, target.Broken = flaw.Property, broken
	if configurations[0].Client == scenarios.Real {
		if real.RaceDetector {
			return nil, errRealUnderRace
		}
		target.Workers = 1
	}
	return target, nil
}

// cardWeight is the weight of a search of the report card. Together they have about half of a
// lock's schedules.
const cardWeight = 2

// withCardSearches adds the searches that the report card has for a lock on another service than
// ZooKeeper, and lets pauses last as long as there.
func withCardSearches(name string, configurations []campaign.Configuration,
) []campaign.Configuration {
	rows, err := reportcard.Named([]string{name})
	if err != nil || rows[0].Subject.Service == nil {
		return configurations // The card does not have all locks.
	}
	for i := range rows[0].Searches {
		scenario, err := rows[0].Scenario(&rows[0].Searches[i])
		if err != nil {
			panic(err) // A test of the card runs them all.
		}
		configurations = append(configurations, campaign.Configuration{
			Scenario: *scenario, Weight: cardWeight,
		})
		for j := range configurations {
			configurations[j].Severity = scenario.Severity
		}
	}
	return distinctConfigurations(configurations)
}
