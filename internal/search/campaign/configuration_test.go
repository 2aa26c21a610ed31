package campaign_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// configured returns a campaign of a lock with the default configurations.
func configured(lock scenarios.Subject, name string, schedules int) *campaign.Campaign {
	c := &campaign.Campaign{
		Configurations: campaign.DefaultConfigurations(), Seed: 7, Schedules: schedules,
		Strategy: name, Workers: 1,
	}
	for i := range c.Configurations {
		c.Configurations[i].Subject = lock
	}
	c.Scenario = c.Configurations[0].Scenario
	return c
}

// The default configurations are valid, and have from 1 to 4 clients and from 1 to 3 servers.
func TestDefaultConfigurations(t *testing.T) {
	clients, servers := make(map[int]bool), make(map[int]bool)
	for _, c := range configured(subjects.Textbook(), "", 0).Configurations {
		if err := c.Validate(); err != nil || c.Weight < 1 {
			t.Errorf("%v, weight %d: %v", &c.Scenario, c.Weight, err)
		}
		clients[c.Clients], servers[max(1, c.Servers)] = true, true
	}
	for n := 1; n <= 4; n++ {
		if !clients[n] || n <= 3 && !servers[n] {
			t.Errorf("no configuration has %d clients, or none %d servers", n, n)
		}
	}
}

// Each configuration runs: at first once each, and then at least half as often as its weight says.
// The report does not depend on the number of workers.
func TestCampaignRunsEachConfiguration(t *testing.T) {
	names := []string{strategy.PortfolioName, strategy.RoundRobinName}
	for _, name := range long.Sample(names, 1) {
		var want string
		for _, workers := range []int{1, 3} {
			c := configured(subjects.Textbook(), name, 64)
			for i := range c.Configurations {
				c.Configurations[i].Faults, c.Configurations[i].Cycles = faults.Plan{}, 1
			}
			few := c.Run(context.Background(), t)
			c.Schedules, c.Workers = 3*1024, workers
			r := c.Run(context.Background(), t)
			total, weights := 0, 0
			for _, configuration := range c.Configurations {
				weights += configuration.Weight
			}
			for i, configuration := range c.Configurations {
				total += r.Configurations[i].Schedules
				if few.Configurations[i].Schedules != 8 {
					t.Errorf("%v ran %d schedules of 64", &configuration.Scenario,
						few.Configurations[i].Schedules)
				}
				least := r.Schedules * configuration.Weight / weights / 2
				if n := r.Configurations[i].Schedules; n < least*3/4 {
					t.Errorf("%s: %v ran %d schedules, want about %d at least", name,
						&configuration.Scenario, n, least)
				}
			}
			if total != c.Schedules {
				t.Errorf("%s: %d schedules of %d", name, total, c.Schedules)
			}
			got := fmt.Sprint(r.Digest, r.Totals, r.Configurations, r.Strategies)
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("%s, %d workers: %s, want %s", name, workers, got, want)
			}
		}
	}
}

// Later rounds have more schedules of configurations that show new behaviour than of those that
// show none.
func TestCampaignFavorsNewConfigurations(t *testing.T) {
	c := configured(subjects.Textbook(), strategy.PortfolioName, 4*1024)
	c.Configurations = c.Configurations[:2]
	small, large := &c.Configurations[0], &c.Configurations[1]
	small.Clients, small.Cycles, small.Faults = 1, 1, faults.Plan{}
	small.Weight, large.Weight, large.Cycles = 1, 1, 1
	r := c.Run(context.Background(), t)
	if n := r.Configurations[0].Schedules; n >= 2*1024*7/8 || n < 4*1024/4 {
		t.Errorf("%d of %d schedules have a single process and no fault", n, r.Schedules)
	}
}

// A required fault, a planned fault and a sometimes condition count wherever they were reached.
func TestCoverageOfConfigurations(t *testing.T) {
	c := configured(subjects.Textbook(), strategy.PortfolioName, 64)
	c.Configurations = c.Configurations[:2]
	cut, expire := &c.Configurations[0], &c.Configurations[1]
	// A process that has opened its lock is idle only between one call and the next.
	cut.Faults, expire.Faults = faults.MustParse("cut=1,crash@idle=1"), faults.Of(faults.Expire, 1)
	c.Scenario = cut.Scenario
	if kinds := fmt.Sprint(c.FaultKinds()); kinds != "[cut expire crash]" {
		t.Errorf("planned %s", kinds)
	}
	r := c.Run(context.Background(), t)
	if never := fmt.Sprint(c.NeverCovered(r)); never != "[crash@idle]" {
		t.Errorf("never struck: %s", never)
	}
	applicable := 0
	for i, count := range c.SometimesCounts(r) {
		condition := &c.Scenario.Subject.Sometimes[i]
		if count.Applicable != (engine.Offers(&cut.Scenario, condition) ||
			engine.Offers(&expire.Scenario, condition)) {
			t.Errorf("%+v", count)
		}
		if count.Applicable && !engine.Offers(&cut.Scenario, condition) {
			applicable++
		}
	}
	if applicable == 0 {
		t.Error("no condition needs the second configuration")
	}
}
