package report

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// A DistinctFailure stands for all failed schedules that violate a property with the same
// signature.
type DistinctFailure struct {
	Property  history.Property
	Signature string
	Schedules int      // how many schedules violate it
	First     *Failure // the first of them
}

// DistinctFailures are the distinct failures of a search, in the order of their first schedules.
type DistinctFailures []DistinctFailure

// Add counts a failed schedule and reports whether one of its signatures is new. Violations out of
// contract do not count. If the schedule panics, only the panic counts, because the violations that
// follow can be its consequences.
func (d *DistinctFailures) Add(f *Failure) (isNew bool) { return d.add(f, false) }

// AddOutOfContract counts the violations of a schedule that are out of contract, unless it panics.
func (d *DistinctFailures) AddOutOfContract(f *Failure) { d.add(f, true) }

func (d *DistinctFailures) add(f *Failure, outOfContract bool) (isNew bool) {
	panics := slices.ContainsFunc(f.Violations,
		func(v *history.Violation) bool { return v.Property == history.NoPanic })
	var counted []string
	for _, v := range f.Violations {
		signature := v.Signature()
		if panics && v.Property != history.NoPanic ||
			slices.Contains(f.OutOfContract, v) != outOfContract ||
			slices.Contains(counted, signature) {
			continue
		}
		counted = append(counted, signature)
		isNew = d.count(DistinctFailure{v.Property, signature, 1, f}) || isNew
	}
	return isNew
}

// Merge adds the failures of later schedules.
func (d *DistinctFailures) Merge(later DistinctFailures) {
	for _, failure := range later {
		d.count(failure)
	}
}

// count adds the schedules of a failure and reports whether its signature is new.
func (d *DistinctFailures) count(failure DistinctFailure) (isNew bool) {
	known := slices.IndexFunc(*d,
		func(f DistinctFailure) bool { return f.Signature == failure.Signature })
	if known < 0 {
		*d = append(*d, failure)
		return true
	}
	(*d)[known].Schedules += failure.Schedules
	return false
}
