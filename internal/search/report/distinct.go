package report

import (
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/history"
)

// A DistinctFailure stands for all failed schedules that violate a property with the same
// signature. Their causes are known once they have been shrunk.
type DistinctFailure struct {
	Property  history.Property
	Signature string
	Schedules int      // how many schedules violate it
	First     *Failure // the first of them
	// Candidates are schedules that may have other causes than each other, in the order of their
	// causes. Without them, only the first schedule is shrunk.
	Candidates []Candidate
	Known      []Cause // that need no counterexample
}

// A Candidate is the first schedule with a cause, before it was shrunk.
type Candidate struct {
	Cause   Cause
	Failure *Failure
}

// DistinctFailures are the distinct failures of a search, in the order of their first schedules.
type DistinctFailures []DistinctFailure

// Add counts a failed schedule with its events, and reports whether one of its signatures is new.
// Violations out of contract do not count. If the schedule panics, only the panic counts, because
// the violations that follow can be its consequences.
func (d *DistinctFailures) Add(f *Failure, events []history.Event) (isNew bool) {
	return d.add(f, events, false)
}

// AddOutOfContract counts the violations of a schedule that are out of contract, unless it panics.
func (d *DistinctFailures) AddOutOfContract(f *Failure) { d.add(f, nil, true) }

func (d *DistinctFailures) add(f *Failure, events []history.Event, outOfContract bool,
) (isNew bool) {
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
		failure := DistinctFailure{
			Property: v.Property, Signature: signature, Schedules: 1, First: f,
		}
		if !outOfContract {
			failure.Candidates = []Candidate{{CauseOf(events, v), f}}
		}
		isNew = d.count(failure) || isNew
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
	at := slices.IndexFunc(*d,
		func(f DistinctFailure) bool { return f.Signature == failure.Signature })
	if at < 0 {
		*d = append(*d, failure)
		return true
	}
	known := &(*d)[at]
	known.Schedules += failure.Schedules
	known.Candidates = bestOf(known.Candidates, failure.Candidates)
	return false
}

const (
	// candidatesMax bounds the candidates that are kept because of their few faults and calls.
	candidatesMax = 8
	// disturbancesMax bounds the disturbances for each of which the first candidate is kept.
	disturbancesMax = 8
)

// bestOf returns the first candidates of both in the order of their causes, and the first of each
// disturbance, within bounds. It is associative, so it makes no difference how a search is
// divided. Of two candidates with the same cause it takes the earlier.
func bestOf(earlier, later []Candidate) []Candidate {
	all := slices.Concat(earlier, later)
	slices.SortStableFunc(all, func(a, b Candidate) int { return a.Cause.Compare(&b.Cause) })
	all = slices.CompactFunc(all,
		func(a, b Candidate) bool { return a.Cause.Compare(&b.Cause) == 0 })
	disturbances, n := make(map[string]bool), 0
	return slices.DeleteFunc(all, func(c Candidate) bool {
		disturbance := strings.Join(c.Cause.disturbance(), "; ")
		isNew := !disturbances[disturbance]
		disturbances[disturbance] = true
		n++
		return n > candidatesMax && !(isNew && len(disturbances) <= disturbancesMax)
	})
}
