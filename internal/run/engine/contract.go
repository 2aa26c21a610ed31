package engine

import (
	"slices"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
)

// OutOfContract reports whether the lock's contract does not exclude a violation. That is so for
//
//   - [history.ClientMutualExclusion] and [history.Margin] after a pause or a clock drift beyond
//     the contract;
//   - [history.Validity] after a clock drift beyond the contract, and after a jump of a clock if
//     the contract bounds the drift;
//   - [history.ClientMutualExclusion], and a re-entry into a lost lock
//     ([history.LossNotification]), after a fault has closed a session.
//
// No lock can prevent these: its process can be paused between a look at the clock and an action,
// and it learns of the end of its session only when it connects again. All other properties are
// promised whatever happens. The result must be that of its runner's last run.
func (r *Result) OutOfContract(s *scenarios.Scenario, v *history.Violation) bool {
	events := r.Events[:v.Event+1] // Later faults have not caused the violation.
	if faultsStruck(events, faults.CloseSession) {
		reentry := v.Property == history.LossNotification &&
			r.Events[v.Event].Kind == history.ReenterReturn
		return reentry || v.Property == history.ClientMutualExclusion
	}
	var struck faults.Severity
	switch v.Property {
	case history.ClientMutualExclusion, history.Margin:
		struck.Pause = longestPause(events)
	case history.Validity:
		if faultsStruck(events, faults.JumpClock) {
			return s.Contract().Drift < faults.DriftMax
		}
	default:
		return false
	}
	if faultsStruck(events, drifts...) {
		struck.Drift = s.EffectiveSeverity().Drift
	}
	return !struck.Within(s.Contract())
}

// drifts are the kinds of faults after which a clock runs too fast or too slowly.
var drifts = []faults.Kind{
	faults.SlowClient, faults.FastClient, faults.SlowClock, faults.FastClock,
}

// Graded reports whether faults may strike whose effect depends on the severity.
func Graded(s *scenarios.Scenario) bool {
	return s.SlowsLinks() || slices.ContainsFunc(s.FaultKinds(), func(kind faults.Kind) bool {
		return kind == faults.Pause || slices.Contains(drifts, kind)
	})
}

// faultsStruck reports whether a fault of one of the kinds is among the events.
func faultsStruck(events []history.Event, kinds ...faults.Kind) bool {
	return slices.ContainsFunc(events, func(e history.Event) bool {
		return e.Kind == history.Fault && slices.ContainsFunc(kinds,
			func(kind faults.Kind) bool { return e.Name == kind.String() })
	})
}

// longestPause returns the longest pause of a process among the events.
func longestPause(events []history.Event) (longest time.Duration) {
	for i := range events {
		if e := &events[i]; e.Kind == history.Fault && e.Name == faults.Pause.String() {
			longest = max(longest, pauseEnd(events[i:])-e.At)
		}
	}
	return longest
}

// pauseEnd returns the end of the pause that the first event begins, or the time of the last event
// if the pause has not ended.
func pauseEnd(events []history.Event) time.Duration {
	for i := range events {
		if events[i].Kind == history.Resumed && events[i].Process == events[0].Process {
			return events[i].At
		}
	}
	return events[len(events)-1].At
}

// Fails reports whether a run has violated a promise of the lock. It sorts the violations as
// reports list them: panics, then violations within the contract, then those out of contract. A
// livelock, which keeps calls from returning, comes before them. The result must be that of its
// runner's last run.
func (r *Result) Fails(s *scenarios.Scenario) bool {
	r.Lead(s, "")
	return len(r.Violations) > 0 && !r.OutOfContract(s, r.Violations[0])
}

// Lead sorts the violations of a run as [Result.Fails] does, and puts the one with the signature
// first in its group. The result must be that of its runner's last run.
func (r *Result) Lead(s *scenarios.Scenario, signature string) {
	slices.SortStableFunc(r.Violations, func(a, b *history.Violation) int {
		return r.rank(s, a, signature) - r.rank(s, b, signature)
	})
}

func (r *Result) rank(s *scenarios.Scenario, v *history.Violation, signature string) int {
	rank := 6
	switch {
	case v.Property == history.NoPanic:
		return 0
	case !r.OutOfContract(s, v):
		rank = 3
	}
	switch {
	case v.Signature() == signature:
		rank--
	case v.Property == history.Progress && slices.ContainsFunc(r.Violations,
		func(v *history.Violation) bool { return v.Property == history.NoLivelock }):
		rank++
	}
	return rank
}

// OutOfContractViolations returns the violations of a run that the lock's contract does not
// exclude.
func (r *Result) OutOfContractViolations(s *scenarios.Scenario) (excused []*history.Violation) {
	for _, v := range r.Violations {
		if r.OutOfContract(s, v) {
			excused = append(excused, v)
		}
	}
	return excused
}
