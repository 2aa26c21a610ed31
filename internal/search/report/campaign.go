package report

import (
	"cmp"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
)

// A Campaign is the report of a campaign.
type Campaign struct {
	Runs

	StatesCapped bool // there were more states than [StatesMax]
	Histories    int  // distinct histories, counted up to [HistoriesMax]
	// Strategies are the schedules of each strategy, in the order of their first turns.
	Strategies []StrategyStats
	// Configurations are the schedules of each configuration, as far as any was run.
	Configurations []ConfigurationStats

	Totals Totals
	Effort Effort

	// Seen are the states and histories that were counted.
	Seen *Seen
}

// StrategyStats are the schedules of a campaign that one strategy drew.
type StrategyStats struct {
	Strategy  string `json:"strategy"`
	Schedules int    `json:"schedules"`
	// Behaviours counts the behaviours that no schedule before had shown; only of a portfolio.
	Behaviours int `json:"behaviours"`
	// Failed reports that the strategy drew the schedule that failed.
	Failed bool `json:"found"`
}

// ConfigurationStats are the schedules of a campaign that ran in one configuration.
type ConfigurationStats struct {
	Schedules int `json:"schedules"`
	Steps     int `json:"steps"`
	// Behaviours counts the behaviours that no schedule before had shown, as in [StrategyStats].
	Behaviours int `json:"behaviours"`
	// Failed reports that the schedule that failed ran in the configuration.
	Failed bool `json:"found"`
}

// Configuration returns the statistics of the configuration with an index.
func (r *Campaign) Configuration(index int) *ConfigurationStats {
	for len(r.Configurations) <= index {
		r.Configurations = append(r.Configurations, ConfigurationStats{})
	}
	return &r.Configurations[index]
}

// Stats returns the statistics of a strategy.
func (r *Campaign) Stats(strategy string) *StrategyStats {
	for i := range r.Strategies {
		if r.Strategies[i].Strategy == strategy {
			return &r.Strategies[i]
		}
	}
	r.Strategies = append(r.Strategies, StrategyStats{Strategy: strategy})
	return &r.Strategies[len(r.Strategies)-1]
}

// Exercised implements [Report].
func (r *Campaign) Exercised(p history.Property) int {
	return cmp.Or(r.Runs.Exercised(p), r.Totals.Vacuity.Of(p))
}

// Add counts a schedule of a configuration that a strategy drew. The caller counts its states, and
// judges it.
func (r *Campaign) Add(strategy string, configuration int, result *engine.Result) {
	r.Runs.Add(result)
	r.Depth = max(r.Depth, result.Steps)
	r.Stats(strategy).Schedules++
	c := r.Configuration(configuration)
	c.Schedules++
	c.Steps += result.Steps
	r.Totals.Add(result)
}

// Fail notes a failed schedule.
func (r *Campaign) Fail(f *Failure) {
	if r.Failure == nil {
		r.Failure = f
		r.Stats(f.Strategy).Failed = true
		r.Configuration(f.Configuration).Failed = true
	}
}

// Append adds the report of the schedules that follow, except for what they have seen.
func (r *Campaign) Append(later *Campaign) {
	for _, s := range later.Strategies {
		sum := r.Stats(s.Strategy)
		sum.Schedules += s.Schedules
		sum.Behaviours += s.Behaviours
		sum.Failed = sum.Failed || s.Failed && r.Failure == nil
	}
	for i, s := range later.Configurations {
		sum := r.Configuration(i)
		sum.Schedules += s.Schedules
		sum.Steps += s.Steps
		sum.Behaviours += s.Behaviours
		sum.Failed = sum.Failed || s.Failed && r.Failure == nil
	}
	r.Runs.append(&later.Runs)
	r.Totals.Merge(&later.Totals)
	r.Effort.Running += later.Effort.Running
	r.Effort.Checking += later.Effort.Checking
}

// CountSeen sets the numbers of states and histories.
func (r *Campaign) CountSeen() {
	r.States, r.StatesCapped = r.Seen.States()
	r.Histories = r.Seen.Histories()
}
