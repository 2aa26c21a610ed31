package campaign

import (
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/scenarios"
)

// A Configuration is one of several scenarios of a campaign.
type Configuration struct {
	scenarios.Scenario
	Weight int // its share of the schedules; see [strategy.Rounds]
}

// All returns the configurations: the Scenario alone if the campaign has no others.
func (c *Campaign) All() []Configuration {
	if len(c.Configurations) == 0 {
		return []Configuration{{c.Scenario, 1}}
	}
	return c.Configurations
}

// ScenarioOf returns the scenario in which a schedule failed.
func (c *Campaign) ScenarioOf(f *report.Failure) scenarios.Scenario {
	return c.All()[f.Configuration].Scenario
}

// String describes the scenario, or all configurations, in a line.
func (c *Campaign) String() string {
	var all []*scenarios.Scenario
	for _, configuration := range c.All() {
		all = append(all, &configuration.Scenario)
	}
	return scenarios.Describe(all...)
}
