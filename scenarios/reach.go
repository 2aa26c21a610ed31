package scenarios

import (
	"strings"

	"github.com/interlock-sim/interlock/history"
)

// A Reach says of which schedules an exhaustive search has shown a property.
type Reach string

// The reaches, from the farthest to the least. "Every" is meant within the [Report.Scope] of a
// search that is complete.
const (
	EverySchedule Reach = "in every schedule"
	// EveryState is the reach of what must happen in the end, if the fair phase was begun in every
	// state.
	EveryState Reach = "in the end, from every state"
	// EveryEnd is the reach of what must happen in the end, if the fair phase was begun at the end
	// of schedules only.
	EveryEnd Reach = "at the end of every schedule"
	// SchedulesRun is the reach of a search that is not complete, and of [history.Ensemble]: what
	// it remembers of a run is in no state's key, so that it was not judged in runs that end in a
	// state which was known.
	SchedulesRun Reach = "in the schedules that were run"
)

// Reach returns of which schedules the search has shown a property that it has not found violated.
func (r *Report) Reach(p history.Property) Reach {
	switch {
	case !r.Complete, p == history.ZooKeeperConsistency:
		return SchedulesRun
	case p != NoGoroutineLeak && !history.JudgedInFairPhase(p):
		return EverySchedule
	case r.FairSuffixes:
		return EveryState
	}
	return EveryEnd
}

// reaches lists the claims of a lock by how far a search has shown them.
func (r *Report) reaches(subject *Subject) string {
	var parts []string
	for _, reach := range []Reach{EverySchedule, EveryState, EveryEnd, SchedulesRun} {
		var names []string
		for _, p := range Properties() {
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
