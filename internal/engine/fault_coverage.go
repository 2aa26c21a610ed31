package engine

import (
	"github.com/interlock-sim/interlock/faults"
)

// FaultCoverage counts the faults that struck, by kind and by phase of the process.
type FaultCoverage [faults.Kinds][faults.Phases]int

// Add adds the counts of other.
func (l *FaultCoverage) Add(other *FaultCoverage) {
	for kind := range l {
		for phase := range l[kind] {
			l[kind][phase] += other[kind][phase]
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

// TargetCoverage counts the faults that struck a target named in the plan, in the order of the
// plan.
type TargetCoverage [faults.TargetedFaultsMax]int

// Add adds the counts of other.
func (a *TargetCoverage) Add(other *TargetCoverage) {
	for i := range a {
		a[i] += other[i]
	}
}
