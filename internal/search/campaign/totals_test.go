package campaign_test

import (
	"context"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
)

// A campaign that could have reached a sometimes condition and has not reports it.
func TestSometimes(t *testing.T) {
	reached := func(answer bool) func([]history.Event) bool {
		return func([]history.Event) bool { return answer }
	}
	subject := locktest.NoLock()
	subject.Claims = []history.Property{history.Progress}
	subject.Sometimes = []history.Sometimes{
		{Name: "always", Clients: 1, Reached: reached(true)},
		{Name: "never", Clients: 1, Reached: reached(false)},
		{Name: "never with two", Clients: 2, Reached: reached(false)},
		{Name: "never by a cut", Clients: 1, Fault: "cut", Reached: reached(false)},
		{Name: "never by a crash", Clients: 1, Fault: "crash", Reached: reached(false)},
		{
			Name: "never by the death of a server", Clients: 1, Fault: "kill-server",
			Reached: reached(false),
		},
	}
	c := &campaign.Campaign{Seed: 1, Schedules: 6000, Workers: 2, Scenario: scenarios.Scenario{
		Subject: subject, Clients: 1, Cycles: 1,
		Faults: faults.Of(faults.Cut, 1),
	}}
	report := c.Run(context.Background(), t)
	if got := c.NeverReached(report); !slices.Equal(got, []string{"never", "never by a cut"}) {
		t.Errorf("missed %q", got)
	}
	goals := c.SometimesCounts(report)
	if goals[0].Schedules != report.Schedules || !goals[0].Applicable || goals[2].Applicable ||
		goals[4].Applicable {
		t.Errorf("%+v", goals)
	}
	// A kind of fault that any includes does not apply to a scenario without its targets.
	any := campaign.Campaign{Scenario: c.Scenario}
	any.Scenario.Faults = faults.Of(faults.Any, 1)
	alone := any.SometimesCounts(report)[5].Applicable
	any.Scenario.Servers = 3
	if several := any.SometimesCounts(report)[5].Applicable; alone || !several {
		t.Errorf("a condition that needs the crash of a server is applicable with one: %t, with "+
			"three: %t", alone, several)
	}
	c.Schedules = 100
	if got := c.NeverReached(c.Run(context.Background(), t)); got != nil {
		t.Errorf("%q missed in 100 schedules", got)
	}
}
