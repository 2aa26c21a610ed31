package scenarios

import "github.com/interlock-sim/interlock/faults"

// NeverCovered returns what was planned and has never landed, by the names that it has in a plan:
// kinds of faults, kinds in phases, and kinds with a target. A campaign that a failure has cut
// short has not come to them.
func (c *Campaign) NeverCovered(r *Report) []string {
	if !r.finished() {
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

// MissingCoverage returns those of the required cells in which nothing has landed, though the
// campaign has come to its end.
func (c *Campaign) MissingCoverage(r *Report) []faults.CoverageCell {
	var lacking []faults.CoverageCell
	for _, cell := range c.RequiredCoverage {
		if r.Coverage[cell.Kind][cell.Phase] == 0 && r.finished() {
			lacking = append(lacking, cell)
		}
	}
	return lacking
}

// finished tells whether nothing has cut the campaign short.
func (r *Report) finished() bool {
	return r.Failure == nil && r.Nondeterministic == nil && !r.Interrupted
}
