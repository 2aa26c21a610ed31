package campaign

import (
	"slices"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/search/report"
)

// NeverCovered returns the planned faults that never struck, under their names in a plan: kinds,
// kinds at a phase, and kinds with a target. It returns nothing if the campaign was cut
// short, or is only a part.
func (c *Campaign) NeverCovered(found report.Report) []string {
	r := found.Common()
	if !r.Finished() || c.Partial(found) {
		return nil
	}
	var never []string
	note := func(name string) {
		if !slices.Contains(never, name) {
			never = append(never, name)
		}
	}
	for _, configuration := range c.All() {
		plan := &configuration.Faults
		for _, kind := range configuration.FaultKinds() {
			if r.Coverage.Total(kind) == 0 && plan.AllowsAnywhere(kind) {
				note(kind.String())
				continue
			}
			for phase := range faults.Phases {
				cell := faults.CoverageCell{Kind: kind, Phase: phase}
				if r.Coverage[kind][phase] == 0 && plan.AllowsCell(cell) {
					note(cell.String())
				}
			}
		}
	}
	for i, aim := range c.Scenario.Faults.Targeted() { // The same in all configurations.
		if r.Targeted[i] == 0 {
			note(aim.String())
		}
	}
	return never
}

// FaultKinds returns the kinds of faults that may strike in a configuration.
func (c *Campaign) FaultKinds() (kinds []faults.Kind) {
	for _, configuration := range c.All() {
		kinds = append(kinds, configuration.FaultKinds()...)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// NeverStruck returns the kinds of faults, planned or not, that the service and the client have and
// that never struck. More servers allow more kinds.
func (c *Campaign) NeverStruck(found report.Report) (kinds []string) {
	for kind := range faults.Kinds {
		need := kind.Needs()
		if found.Common().Coverage.Total(kind) == 0 &&
			c.Scenario.Subject.EffectiveService().Supports(kind) &&
			(need == faults.SeveralServers || c.Scenario.Has(need)) {
			kinds = append(kinds, kind.String())
		}
	}
	return kinds
}

// MissingCoverage returns the required cells in which no fault struck. It returns nothing if the
// campaign was cut short, or is only a part.
func (c *Campaign) MissingCoverage(found report.Report) []faults.CoverageCell {
	r := found.Common()
	if !r.Finished() || c.Partial(found) {
		return nil
	}
	var lacking []faults.CoverageCell
	for _, cell := range c.RequiredCoverage {
		if r.Coverage[cell.Kind][cell.Phase] == 0 {
			lacking = append(lacking, cell)
		}
	}
	return lacking
}
