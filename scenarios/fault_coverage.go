package scenarios

import (
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// phase returns what the process is doing.
func (p *process) phase() faults.Phase {
	switch p.stage {
	case holding:
		return faults.Holding
	case releasing:
		return faults.Releasing
	case locking:
		r := p.link.Pending()
		switch {
		case p.woken:
			return faults.Woken
		case r == nil:
			return faults.Waiting
		case r.Watch:
			return faults.SettingWatch
		case r.Op == wire.OpCreate:
			return faults.CreateInFlight
		case r.Op == wire.OpGetChildren2:
			return faults.Listing
		}
		return faults.Asking
	}
	return faults.Idle
}

// wake takes note of when a process that was woken has gone back to waiting, or has done with it.
func (p *process) wake() {
	if p.woken && (p.stage != locking || p.link.Pending() == nil) {
		p.woken = false
	}
}

// FaultCoverage counts the faults that have struck, by kind and by what the process was doing.
type FaultCoverage [faults.Kinds][faults.Phases]int

// Add adds the counts of other.
func (l *FaultCoverage) Add(other *FaultCoverage) {
	for kind := range l {
		for phase := range l[kind] {
			l[kind][phase] += other[kind][phase]
		}
	}
}

// Total returns how many faults of the kind have struck.
func (l *FaultCoverage) Total(kind faults.Kind) int {
	total := 0
	for _, count := range l[kind] {
		total += count
	}
	return total
}

// TargetCoverage counts the faults that have struck a target that the plan names, in the order of
// the plan.
type TargetCoverage [faults.TargetedFaultsMax]int

// Add adds the counts of other.
func (a *TargetCoverage) Add(other *TargetCoverage) {
	for i := range a {
		a[i] += other[i]
	}
}

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
