package main

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/testkit/long"
)

// A flag fixes its column of the default configurations and leaves the others. Together the flags
// fix the configuration, and in an exhaustive search they always do.
func TestFlagsFixColumns(t *testing.T) {
	values := map[string]func(*campaign.Configuration) any{
		"clients": func(c *campaign.Configuration) any { return c.Clients },
		"cycles":  func(c *campaign.Configuration) any { return c.Cycles },
		"servers": func(c *campaign.Configuration) any { return max(1, c.Servers) },
		"faults":  func(c *campaign.Configuration) any { return c.Faults.String() },
	}
	want := map[string]any{"clients": 2, "cycles": 4, "servers": 5, "faults": "cut=1"}
	for _, tc := range []struct {
		strategy, given string
		fixed           string
	}{
		{"portfolio", "", ""},
		{"portfolio", "clients", "clients"},
		{"random", "cycles", "cycles"},
		{"round-robin", "servers", "servers"},
		{"portfolio", "faults", "faults"},
		{"portfolio", "clients cycles servers faults", "clients cycles servers faults"},
		{"exhaustive", "", "clients cycles servers faults"},
	} {
		f := checkFlags{
			lock: "textbook", client: "model", strategy: tc.strategy, faults: "cut=1", seed: "1",
			clients: 2, cycles: 4, servers: 5, threads: 1,
			schedules: defaultSchedules, budget: defaultBudget, workers: 1,
			severity: faults.DefaultSeverity(), reportFlags: reportFlags{out: "failures"},
		}
		all, err := f.configurations(func(flag string) bool {
			return slices.Contains(strings.Fields(tc.given), flag)
		})
		if err != nil {
			t.Fatal(err)
		}
		for column, value := range values {
			var found []any
			for i := range all {
				if v := value(&all[i]); !slices.Contains(found, v) {
					found = append(found, v)
				}
			}
			fixed := slices.Contains(strings.Fields(tc.fixed), column)
			if fixed != (len(found) == 1) || fixed && found[0] != want[column] {
				t.Errorf("%s, given %q: %s are %v", tc.strategy, tc.given, column, found)
			}
		}
		for i := range all {
			if slices.ContainsFunc(all[:i], func(c campaign.Configuration) bool {
				return c.Dimensions() == all[i].Dimensions()
			}) {
				t.Errorf("given %q: %v twice", tc.given, &all[i].Scenario)
			}
		}
	}
}

// Merged configurations have the weights of all.
func TestMergedWeights(t *testing.T) {
	total := func(all []campaign.Configuration) (weight int) {
		for _, c := range all {
			weight += c.Weight
		}
		return weight
	}
	all := campaign.DefaultConfigurations()
	want := total(all)
	for i := range all {
		all[i].Servers, all[i].Faults = 0, faults.Plan{}
	}
	if merged := distinctConfigurations(all); len(merged) >= len(all) || total(merged) != want {
		t.Errorf("%d configurations of weight %d, want weight %d", len(merged), total(merged), want)
	}
}

// By default a search finds locks whose holders outlive an expiry within a few hundred schedules,
// which a busy machine runs in the default budget.
func TestTimedLocksAreFound(t *testing.T) {
	for _, lock := range []string{"redlock", "setnx-lease", "unique-index-owner"} {
		for _, seed := range long.Sample([]int{1, 2, 3, 4, 5}, 1) {
			var f checkFlags
			f.defineFlags(new(cobra.Command))
			f.lock, f.seed, f.schedules = lock, strconv.Itoa(seed), 300
			c, err := f.campaign(func(flag string) bool { return flag == "schedules" })
			if err != nil {
				t.Fatal(err)
			}
			if found := c.Run(t.Context(), t); found.Failure == nil {
				t.Errorf("%s, seed %d: nothing found in %d schedules", lock, seed, found.Schedules)
			}
		}
	}
}
