package shard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/scenarios"
)

// A Description is what a campaign depends on. It is the same in all of its shards.
type Description struct {
	Lock string `json:"lock"`
	scenarios.Dimensions
	Strategy  string `json:"strategy"`
	Seed      uint64 `json:"seed"`
	Schedules int    `json:"schedules"` // of all shards
	KeepGoing bool   `json:"keep_going"`
	// if there are several
	Configurations []configuration `json:"configurations,omitempty"`
	// cells, as [faults.ParseCoverageCells] reads them
	RequiredCoverage []string `json:"required_coverage,omitempty"`
	// Search is what only an exhaustive search depends on.
	Search Search `json:"search,omitzero"`
}

// A Search is what an exhaustive search by deviations depends on besides its scenario. Its number
// of schedules is 0, because nobody knows it before.
type Search struct {
	MaxDeviations int  `json:"max_deviations"`
	FairSuffixes  bool `json:"fair_suffixes"`
	Shards        int  `json:"shards"` // into which it is divided
}

// scope describes what the search of a scenario covers.
func (s *Search) scope(scenario *scenarios.Scenario) report.Scope {
	return report.Scope{
		Scenario: scenario, MaxDeviations: s.MaxDeviations, FairSuffixes: s.FairSuffixes,
	}
}

// A configuration is one of the configurations of a campaign.
type configuration struct {
	scenarios.Dimensions
	Weight int `json:"weight"`
}

// Describe returns the description of a campaign.
func Describe(c *campaign.Campaign) Description {
	d := Description{
		Lock: c.Scenario.Subject.Name, Dimensions: c.Scenario.Dimensions(), Strategy: c.Strategy,
		Seed: c.Seed, Schedules: c.Schedules, KeepGoing: c.KeepGoing,
	}
	for _, s := range c.Configurations {
		d.Configurations = append(d.Configurations,
			configuration{s.Dimensions(), s.Weight})
	}
	for _, cell := range c.RequiredCoverage {
		d.RequiredCoverage = append(d.RequiredCoverage, cell.String())
	}
	return d
}

// Make returns the whole campaign, for one worker.
func (d *Description) Make(lock Lock) (*campaign.Campaign, error) {
	subject, err := lock(d.Lock)
	if err != nil {
		return nil, err
	}
	c := &campaign.Campaign{
		Scenario: d.Of(subject),
		Strategy: d.Strategy, Seed: d.Seed, Schedules: d.Schedules, KeepGoing: d.KeepGoing,
		Workers: 1,
	}
	if err := c.Scenario.Validate(); err != nil {
		return nil, err
	}
	for _, described := range d.Configurations {
		s := described.Of(subject)
		if err := s.Validate(); err != nil {
			return nil, err
		}
		c.Configurations = append(c.Configurations,
			campaign.Configuration{Scenario: s, Weight: described.Weight})
	}
	if d.Search == (Search{}) {
		if _, err := strategy.Parse(d.Strategy); err != nil {
			return nil, err
		}
	}
	if len(d.RequiredCoverage) > 0 {
		c.RequiredCoverage, err = faults.ParseCoverageCells(strings.Join(d.RequiredCoverage, ","),
			c.FaultKinds())
	}
	return c, err
}

// Difference names the first thing in which two campaigns differ, with both values. It returns ""
// if they are the same.
func (d *Description) Difference(other *Description) string {
	if d.Lock != other.Lock {
		return fmt.Sprintf("lock %s, not %s", d.Lock, other.Lock)
	}
	if difference := d.Dimensions.Difference(&other.Dimensions); difference != "" {
		return difference
	}
	for _, field := range []struct {
		name        string
		mine, other any
	}{
		{"strategy", d.Strategy, other.Strategy},
		{"seed", d.Seed, other.Seed},
		{"schedules", d.Schedules, other.Schedules},
		{"keep-going", d.KeepGoing, other.KeepGoing},
		{"max-deviations", d.Search.MaxDeviations, other.Search.MaxDeviations},
		{"fair-suffixes", d.Search.FairSuffixes, other.Search.FairSuffixes},
		{"number of shards", d.Search.Shards, other.Search.Shards},
	} {
		if field.mine != field.other {
			return fmt.Sprintf("%s %v, not %v", field.name, field.mine, field.other)
		}
	}
	if !slices.Equal(d.Configurations, other.Configurations) {
		return "other configurations"
	}
	if !slices.Equal(d.RequiredCoverage, other.RequiredCoverage) {
		return fmt.Sprintf("required coverage %q, not %q", d.RequiredCoverage,
			other.RequiredCoverage)
	}
	return ""
}
