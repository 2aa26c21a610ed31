package shrink_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/shrink"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
)

// Violations with the same text are as many failures as they have causes, whatever the seed.
func TestCauses(t *testing.T) {
	for _, test := range long.Sample([][]string{
		{},
		{locktest.TakesDeleted},
		{locktest.TakesDeleted, locktest.TakesUnanswered, locktest.IgnoresLoss},
		{locktest.TakesUnanswered},
		{locktest.IgnoresLoss},
	}, 2) {
		t.Run(strings.Join(test, "+"), func(t *testing.T) {
			first := causesOf(t, 0, test...)
			if len(first) != len(test) {
				t.Errorf("causes %v, want %d", first, len(test))
			}
			if len(test) < 3 && !long.Enabled() {
				return
			}
			for seed := range long.Count(1, 2) {
				for _, cause := range causesOf(t, uint64(seed)+1, test...) {
					if !slices.ContainsFunc(first, func(known report.Cause) bool {
						return known.Covers(&cause) || cause.Covers(&known)
					}) {
						t.Errorf("seed %d: cause %v, not one of %v", seed+1, cause, first)
					}
				}
			}
		})
	}
}

func causesOf(t *testing.T, seed uint64, ways ...string) (causes []report.Cause) {
	c := &campaign.Campaign{
		Scenario: *locktest.Scenario(locktest.Causes(ways...), 2, 2, 2), Seed: seed,
		Schedules: 1000, KeepGoing: true,
	}
	r := c.Run(context.Background(), t)
	for group := range shrink.Distinct(context.Background(), t, c, r, func(int) {}) {
		if group.Err != nil {
			t.Fatal(group.Err)
		}
		c := group.Counterexample
		if c.Result.OutOfContract(&c.Scenario, c.Result.Violations[0]) {
			t.Errorf("%v is out of contract", c.Recording)
		}
		for _, f := range group.Failures {
			causes = append(causes, f.Cause)
		}
	}
	return causes
}
