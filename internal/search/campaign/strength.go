package campaign

import (
	"slices"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/scenarios"
)

// Strength returns how much the schedules of a campaign have tried of what it could try.
func (c *Campaign) Strength(r *report.Campaign) report.Strength {
	s := report.Strength{Schedules: r.Schedules, NeverStruck: []faults.CoverageCell{}}
	for _, cell := range c.cells() {
		s.Cells++
		if r.Coverage[cell.Kind][cell.Phase] == 0 {
			s.NeverStruck = append(s.NeverStruck, cell)
		}
	}
	s.OneServer = s.Cells > 0 && !slices.ContainsFunc(c.All(), func(of Configuration) bool {
		return of.EffectiveServers() > 1 || !hasFaultsOfServers(&of.Subject)
	})
	for _, name := range c.strategies() {
		if !slices.ContainsFunc(r.Strategies, func(ran report.StrategyStats) bool {
			return ran.Strategy == name && ran.Schedules > 0
		}) {
			s.StrategiesNotReached = append(s.StrategiesNotReached, name)
		}
	}
	for i, configuration := range c.All() {
		if i >= len(r.Configurations) || r.Configurations[i].Schedules == 0 {
			s.ConfigurationsNotReached = append(s.ConfigurationsNotReached,
				scenarios.Extent(&configuration.Scenario))
		}
	}
	return s
}

// hasFaultsOfServers reports whether the service of a lock has faults that need several servers.
func hasFaultsOfServers(s *scenarios.Subject) bool {
	for k := range faults.Kinds {
		if k.Needs() == faults.SeveralServers && s.EffectiveService().Supports(k) {
			return true
		}
	}
	return false
}

// cells returns the cells in which the plan of a configuration allows faults.
func (c *Campaign) cells() (cells []faults.CoverageCell) {
	for _, configuration := range c.All() {
		for _, cell := range configuration.Faults.Cells(configuration.FaultKinds()) {
			if !slices.Contains(cells, cell) {
				cells = append(cells, cell)
			}
		}
	}
	return cells
}

// strategies returns the strategies that have turns.
func (c *Campaign) strategies() (names []string) {
	for _, configuration := range c.drawn {
		for _, name := range strategy.Turns(c.Strategy, configuration.Profile) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
