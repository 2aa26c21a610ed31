package campaign

import (
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/report"
)

// NeverCovered returns the planned faults that never struck, under their names in a plan: kinds,
// kinds at a phase, and kinds with a target. It returns nothing if the campaign was cut
// short, or is only a part.
func (c *Campaign) NeverCovered(found report.Report) []string {
	r := found.Common()
	if !r.Finished() || c.partial() {
		return nil
	}
	var never []string
	plan := &c.Scenario.Faults
	for _, kind := range c.Scenario.FaultKinds() {
		if r.Coverage.Total(kind) == 0 && plan.AllowsAnywhere(kind) {
			never = append(never, kind.String())
			continue
		}
		for phase := range faults.Phases {
			cell := faults.CoverageCell{Kind: kind, Phase: phase}
			if r.Coverage[kind][phase] == 0 && plan.AllowsCell(cell) {
				never = append(never, cell.String())
			}
		}
	}
	for i, aim := range plan.Targeted {
		if aim.Left > 0 && r.Targeted[i] == 0 {
			never = append(never, aim.String())
		}
	}
	return never
}

// MissingCoverage returns the required cells in which no fault struck. It returns nothing if the
// campaign was cut short, or is only a part.
func (c *Campaign) MissingCoverage(found report.Report) []faults.CoverageCell {
	r := found.Common()
	if !r.Finished() || c.partial() {
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
