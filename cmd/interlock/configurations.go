package main

import (
	"slices"

	"github.com/spf13/pflag"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/strategy"
)

// showConfigurations lets the help of the flags show what the default configurations have.
func showConfigurations(flags *pflag.FlagSet) {
	for name, values := range map[string]string{
		"clients": "1 to 4", "cycles": "1 to 3", "servers": "1 to 3", "faults": "any=1 to any=3",
	} {
		flags.Lookup(name).DefValue = values
	}
}

// rows returns the default configurations with what the flags fix. An exhaustive search has only
// one, which the flags and their defaults describe.
func (f *checkFlags) rows(plan faults.Plan, given func(string) bool) []campaign.Configuration {
	rows := campaign.DefaultConfigurations()
	fixed := given
	if f.strategy == strategy.ExhaustiveName {
		rows, fixed = rows[:1], func(string) bool { return true }
	}
	for i := range rows {
		row := &rows[i]
		if fixed("clients") {
			row.Clients = f.clients
		}
		if fixed("cycles") {
			row.Cycles = f.cycles
		}
		if fixed("servers") {
			row.Servers = f.servers
		}
		if fixed("faults") {
			row.Faults = plan
		}
	}
	return rows
}

// distinctConfigurations merges configurations that are equal.
func distinctConfigurations(all []campaign.Configuration) (distinct []campaign.Configuration) {
	for _, c := range all {
		at := slices.IndexFunc(distinct, func(d campaign.Configuration) bool {
			return c.Dimensions() == d.Dimensions()
		})
		if at < 0 {
			distinct = append(distinct, c)
			continue
		}
		distinct[at].Weight += c.Weight
	}
	return distinct
}
