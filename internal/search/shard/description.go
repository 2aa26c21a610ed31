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
	Lock      string               `json:"lock"`
	Clients   int                  `json:"clients"`
	Cycles    int                  `json:"cycles"`
	Threads   int                  `json:"threads,omitempty"`
	Servers   int                  `json:"servers"`
	Client    scenarios.ClientKind `json:"client"`
	Faults    faults.Plan          `json:"faults"`
	Severity  faults.Severity      `json:"severity"`
	Strategy  string               `json:"strategy"`
	Seed      uint64               `json:"seed"`
	Schedules int                  `json:"schedules"` // of all shards
	KeepGoing bool                 `json:"keep_going"`
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
	Symmetry      bool `json:"symmetry"`
	FairSuffixes  bool `json:"fair_suffixes"`
	Shards        int  `json:"shards"` // into which it is divided
}

// scope describes what the search of a scenario covers.
func (s *Search) scope(scenario *scenarios.Scenario) report.Scope {
	return report.Scope{
		Scenario: scenario, MaxDeviations: s.MaxDeviations, Symmetry: s.Symmetry,
		FairSuffixes: s.FairSuffixes,
	}
}

// A configuration is one of the configurations of a campaign.
type configuration struct {
	Clients int         `json:"clients"`
	Cycles  int         `json:"cycles"`
	Servers int         `json:"servers"`
	Faults  faults.Plan `json:"faults"`
	Weight  int         `json:"weight"`
}

// Describe returns the description of a campaign.
func Describe(c *campaign.Campaign) Description {
	d := Description{
		Lock: c.Scenario.Subject.Name, Clients: c.Scenario.Clients, Cycles: c.Scenario.Cycles,
		Threads: c.Scenario.Threads,
		Servers: c.Scenario.Servers, Client: c.Scenario.Client, Faults: c.Scenario.Faults,
		Severity: c.Scenario.Severity, Strategy: c.Strategy, Seed: c.Seed, Schedules: c.Schedules,
		KeepGoing: c.KeepGoing,
	}
	for _, s := range c.Configurations {
		d.Configurations = append(d.Configurations,
			configuration{s.Clients, s.Cycles, s.Servers, s.Faults, s.Weight})
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
		Scenario: scenarios.Scenario{
			Subject: subject, Clients: d.Clients, Cycles: d.Cycles, Threads: d.Threads,
			Servers: d.Servers,
			Client:  d.Client, Faults: d.Faults, Severity: d.Severity,
		},
		Strategy: d.Strategy, Seed: d.Seed, Schedules: d.Schedules, KeepGoing: d.KeepGoing,
		Workers: 1,
	}
	if err := c.Scenario.Validate(); err != nil {
		return nil, err
	}
	for _, described := range d.Configurations {
		s := c.Scenario
		s.Clients, s.Cycles, s.Servers, s.Faults = described.Clients, described.Cycles,
			described.Servers, described.Faults
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
	for _, field := range []struct {
		name        string
		mine, other any
	}{
		{"lock", d.Lock, other.Lock},
		{"clients", d.Clients, other.Clients},
		{"cycles", d.Cycles, other.Cycles},
		{"threads", d.Threads, other.Threads},
		{"servers", max(1, d.Servers), max(1, other.Servers)},
		{"client", d.Client, other.Client},
		{"faults", d.Faults, other.Faults},
		{"severity", d.Severity, other.Severity},
		{"strategy", d.Strategy, other.Strategy},
		{"seed", d.Seed, other.Seed},
		{"schedules", d.Schedules, other.Schedules},
		{"keep-going", d.KeepGoing, other.KeepGoing},
		{"max-deviations", d.Search.MaxDeviations, other.Search.MaxDeviations},
		{"symmetry", d.Search.Symmetry, other.Search.Symmetry},
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
