package engine

import (
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

// A Result is the outcome of one run.
type Result struct {
	Events     []history.Event // valid until the runner's next run
	Steps      int             // the number of decisions
	Starts     []int           // the number of events before each decision, if facts are gathered
	Deviations []Deviation     // the schedule, as its deviations from the default policy
	// Keys are the state keys after each step; in an exhaustive search, only of the states in which
	// it chooses. They are valid until the runner's next run.
	Keys      []uint64
	Coverage  FaultCoverage  // the faults that struck
	Targeted  TargetCoverage // those that struck a target named in the plan
	TraceHash uint64         // over all events
	// CutOff reports that the strategy made as many decisions as one run allows, so that the
	// schedule was not followed to its end.
	CutOff bool
	// Unsettled reports that requests of live processes were still under way when the run reached
	// its last bound, so that their outcome is unknown.
	Unsettled bool
	// Pruned reports that the run ended in a state that the strategy had visited before. Such a run
	// has no fair phase and no end.
	Pruned bool

	Panic        string // message and stack of the first panic of a process
	PanicProcess int
	Leak         string // where goroutines that never ended are blocked

	// VerdictCached reports that most properties were not checked, because a run with the same
	// verdict key kept them; see [check.CacheableVerdict].
	VerdictCached bool
	// Undecided reports that the linearizability check reached its limits.
	Undecided bool
	Vacuity   check.Vacuity // how often the run exercised each property
	Cost      check.Cost    // of acquisitions and releases
	Margins   check.Margins // in time
	Reached   []bool        // which sometimes conditions the run reached

	// Cancelled reports that the context ended before the run was judged. Nothing else in the
	// result is valid.
	Cancelled bool

	// Violations has at most one violation per claimed property, in the order of [Properties].
	Violations []*history.Violation
}

// struck reports whether a fault of that name struck the run. The empty name asks for no fault.
func (r *Result) struck(name string) bool {
	for kind := range faults.Kinds {
		if kind.String() == name {
			return r.Coverage.Total(kind) > 0
		}
	}
	return name == ""
}
