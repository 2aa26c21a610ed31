package campaign_test

import (
	"context"
	"testing"

	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// The strength of a campaign says what its few schedules have not tried.
func TestStrength(t *testing.T) {
	const oneServer = "; faults of several servers not tried"
	for _, tc := range []struct {
		name, strategy, want string
		plans                []string
		schedules, servers   int
	}{
		{"no faults", "random", "8 schedules", []string{"none"}, 8, 1},
		{
			"cells that nothing struck", "round-robin",
			"1 schedule; 8 of 8 cells of fault and phase never struck" + oneServer +
				"; strategies not reached: pct, pos, surw, pct10, delay, urw",
			[]string{"crash=1"},
			1, 1,
		},
		{
			"a configuration that did not run", "random",
			"8 schedules; 1 of 1 cell of fault and phase never struck" + oneServer +
				"; configurations not reached: 2 clients × 1 cycles, faults expire@hold=1",
			[]string{"none", "expire@hold=1"},
			8, 1,
		},
		{
			"several servers", "random", "8 schedules; 5 of 8 cells of fault and phase never struck",
			[]string{"crash=1"},
			8, 3,
		},
	} {
		c := &campaign.Campaign{Seed: 1, Schedules: tc.schedules, Strategy: tc.strategy}
		for _, plan := range tc.plans {
			c.Configurations = append(c.Configurations, campaign.Configuration{
				Scenario: locktest.Planned(t, subjects.Textbook(), 2, 1, plan), Weight: 1,
			})
		}
		c.Configurations[0].Servers = tc.servers
		c.Scenario = c.Configurations[0].Scenario
		strength := c.Strength(c.Run(context.Background(), t))
		if got := strength.String(); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}
