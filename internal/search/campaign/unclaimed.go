package campaign

import (
	"context"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/scenarios"
)

// Unclaimed runs the first schedules of the campaign again, and returns the properties that the
// lock does not claim and that held in all of them, among those that were exercised. It is meant
// for a campaign that has found nothing. The properties that a schedule violates are left out from
// then on, and the schedules begin again. The result is empty if the context ends before.
func (c *Campaign) Unclaimed(ctx context.Context, t *testing.T, schedules int) []history.Property {
	further := &Campaign{
		Scenario: c.Scenario, Configurations: slices.Clone(c.Configurations), Seed: c.Seed,
		Schedules: schedules, Workers: c.Workers, Strategy: c.Strategy,
	}
	properties := slices.DeleteFunc(check.Properties(), func(p history.Property) bool {
		// Only the claim tells a barrier from a lock, which lets nobody pass early either.
		return c.Scenario.Subject.Claimed(p) || p == history.NoEarlyPass
	})
	for len(properties) > 0 {
		further.claim(properties)
		found := further.Run(ctx, t)
		failed, claimed := violated(found), len(properties)
		if found.Interrupted {
			return nil
		}
		properties = slices.DeleteFunc(properties, func(p history.Property) bool {
			return slices.Contains(failed, p) || len(failed) == 0 && found.Totals.Vacuity.Of(p) == 0
		})
		switch {
		case len(failed) == 0:
			return properties
		case len(properties) == claimed:
			return nil // What failed is no property of the lock.
		}
	}
	return nil
}

// claim makes the lock claim the properties instead of its own, with the limits that a queue
// promises.
func (c *Campaign) claim(properties []history.Property) {
	of := func(s *scenarios.Scenario) {
		s.Subject.Claims = properties
		if slices.Contains(properties, history.NoHerd) {
			listens := s.Subject.Limits.Listens
			s.Subject.Limits = history.DefaultLimits
			s.Subject.Limits.Listens = listens
		}
	}
	of(&c.Scenario)
	for i := range c.Configurations {
		of(&c.Configurations[i].Scenario)
	}
}

// violated returns the properties of the lock that a campaign has seen violated, in or out of the
// contract.
func violated(r *report.Campaign) (all []history.Property) {
	for _, f := range []*report.Failure{r.Failure, r.OutOfContract} {
		if f == nil {
			continue
		}
		for _, v := range f.Violations {
			all = append(all, v.Property)
		}
	}
	return all
}
