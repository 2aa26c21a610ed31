package report

import (
	"strings"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/scenarios"
)

// A Reach says for which schedules an exhaustive search has shown a property.
type Reach string

// The reaches, from the farthest to the least. "Every" is meant within the [Exhaustive.Scope] of a
// search that is complete.
const (
	EverySchedule Reach = "in every schedule"
	// EveryState is the reach of properties of the fair phase, if that was begun in every state.
	EveryState Reach = "in the end, from every state"
	// EveryEnd is the reach of properties of the fair phase, if that was begun only at the end of
	// schedules.
	EveryEnd Reach = "at the end of every schedule"
	// SchedulesRun is the reach of an incomplete search, and of [history.ZooKeeperConsistency],
	// whose monitor state is in no key: it was not judged in runs that were pruned.
	SchedulesRun Reach = "in the schedules that were run"
)

// Reach returns for which schedules the search has shown a property of which it found no violation.
func (r *Exhaustive) Reach(p history.Property) Reach {
	switch {
	case !r.Complete, p == history.ZooKeeperConsistency:
		return SchedulesRun
	case p != history.NoGoroutineLeak && !check.JudgedInFairPhase(p):
		return EverySchedule
	case r.Scope.FairSuffixes:
		return EveryState
	}
	return EveryEnd
}

// Reaches lists the claims of a lock by reach.
func (r *Exhaustive) Reaches(subject *scenarios.Subject) string {
	var parts []string
	for _, reach := range []Reach{EverySchedule, EveryState, EveryEnd, SchedulesRun} {
		var names []string
		for _, p := range check.Claimable() {
			if subject.Claimed(p) && r.Reach(p) == reach {
				names = append(names, string(p))
			}
		}
		if len(names) > 0 {
			parts = append(parts, string(reach)+": "+strings.Join(names, ", "))
		}
	}
	return strings.Join(parts, "\n")
}
