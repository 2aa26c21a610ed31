package engine

import (
	"slices"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
)

// Contract returns the severity of faults up to which the lock promises
// [history.ClientMutualExclusion], and [history.Validity] as far as clocks matter.
func (s *Scenario) Contract() faults.Severity {
	if s.Subject.Severity == (faults.Severity{}) {
		return faults.DefaultSeverity()
	}
	return s.Subject.Severity
}

// DescribeContract describes how far the lock promises client-mutual-exclusion, as far as the
// scenario can go beyond.
func (s *Scenario) DescribeContract() string {
	text := s.Contract().String()
	if s.Faults.Names(faults.CloseSession) {
		text += ", sessions not closed by others"
	}
	return text
}

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
func (s *Scenario) OutOfContract(r *Result, v *history.Violation) bool {
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
	if faultsStruck(events, faults.SlowClient, faults.FastClient, faults.SlowClock,
		faults.FastClock) {
		struck.Drift = s.EffectiveSeverity().Drift
	}
	return !struck.Within(s.Contract())
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
// reports list them: panics, then violations within the contract, then those out of contract. The
// result must be that of its runner's last run.
func (s *Scenario) Fails(r *Result) bool {
	s.Lead(r, "")
	return len(r.Violations) > 0 && !s.OutOfContract(r, r.Violations[0])
}

// Lead sorts the violations of a run as [Scenario.Fails] does, and puts the one with the signature
// first in its group. The result must be that of its runner's last run.
func (s *Scenario) Lead(r *Result, signature string) {
	slices.SortStableFunc(r.Violations, func(a, b *history.Violation) int {
		return s.rank(r, a, signature) - s.rank(r, b, signature)
	})
}

func (s *Scenario) rank(r *Result, v *history.Violation, signature string) int {
	rank := 4
	switch {
	case v.Property == NoPanic:
		return 0
	case !s.OutOfContract(r, v):
		rank = 2
	}
	if v.Signature() == signature {
		rank--
	}
	return rank
}

// OutOfContractViolations returns the violations of a run that the lock's contract does not
// exclude.
func (s *Scenario) OutOfContractViolations(r *Result) (excused []*history.Violation) {
	for _, v := range r.Violations {
		if s.OutOfContract(r, v) {
			excused = append(excused, v)
		}
	}
	return excused
}
