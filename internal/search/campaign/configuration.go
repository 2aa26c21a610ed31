package campaign

import (
	"fmt"

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
	if len(c.Configurations) < 2 {
		return c.Scenario.String()
	}
	first := c.Configurations[0].Scenario
	clients, cycles, servers := span{}, span{}, span{}
	samePlan := true
	for i := range c.Configurations {
		s := &c.Configurations[i].Scenario
		clients.add(s.Clients)
		cycles.add(s.Cycles)
		servers.add(max(1, s.Servers))
		samePlan = samePlan && s.Faults == first.Faults
	}
	text := fmt.Sprintf("%s, %d configurations, %v clients × ", first.Subject.Name,
		len(c.Configurations), clients)
	if first.Threads > 1 {
		text += fmt.Sprintf("%d threads × ", first.Threads)
	}
	text += fmt.Sprintf("%v cycles", cycles)
	if samePlan {
		text += fmt.Sprintf(", faults %v", first.Faults)
	}
	if servers.most > 1 {
		text += fmt.Sprintf(", %v servers", servers)
	}
	// The rest is the same in all.
	return text + first.DescribeRest()
}

// A span is a range of numbers.
type span struct{ least, most int }

// add extends the span to a number, which must be positive.
func (s *span) add(n int) {
	if s.least == 0 {
		s.least = n
	}
	s.least, s.most = min(s.least, n), max(s.most, n)
}

func (s span) String() string {
	if s.least == s.most {
		return fmt.Sprint(s.least)
	}
	return fmt.Sprintf("%d to %d", s.least, s.most)
}
