package engine

import (
	"github.com/interlock-sim/interlock/faults"
)

// FaultCoverage counts the faults that struck, by kind and by phase of the process.
type FaultCoverage [faults.Kinds][faults.Phases]int

// Add adds the counts of other. Few runs have many, so it writes only where there are some: workers
// add to the same counts, and each write takes a cache line from another processor.
func (l *FaultCoverage) Add(other *FaultCoverage) {
	for kind := range l {
		for phase, count := range other[kind] {
			if count != 0 {
				l[kind][phase] += count
			}
		}
	}
}

// Total returns how many faults of the kind struck.
func (l *FaultCoverage) Total(kind faults.Kind) int {
	total := 0
	for _, count := range l[kind] {
		total += count
	}
	return total
}

// ByName returns the counts of kinds by the names of kinds and phases.
func (l *FaultCoverage) ByName(kinds []faults.Kind) map[string]map[string]int {
	named := make(map[string]map[string]int, len(kinds))
	for _, kind := range kinds {
		phases := make(map[string]int, int(faults.Phases))
		for phase := range faults.Phases {
			phases[phase.String()] = l[kind][phase]
		}
		named[kind.String()] = phases
	}
	return named
}

// TargetCoverage counts the faults that struck a target named in the plan, in the order of the
// plan.
type TargetCoverage [faults.TargetedFaultsMax]int

// Add adds the counts of other.
func (a *TargetCoverage) Add(other *TargetCoverage) {
	for i := range a {
		a[i] += other[i]
	}
}
