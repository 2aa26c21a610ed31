// Package report is what searches report: how much was run, what it exercised, and what failed.
package report

import (
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/engine"
)

// A Report is what a search has found.
type Report struct {
	Schedules int
	Steps     int
	States    int    // distinct state keys; in an exhaustive search, those stored
	Depth     int    // decisions of the longest schedule
	Histories int    // of a campaign: distinct histories, counted up to 2^17
	Digest    uint64 // over the trace hashes of all schedules in order
	Coverage  engine.FaultCoverage
	Targeted  engine.TargetCoverage
	Elapsed   time.Duration
	// Strategies are the schedules of each strategy of a campaign, in the order of their first
	// turns.
	Strategies []StrategyStats

	// Totals are what the schedules of a campaign tested; of an exhaustive search, only Unknown.
	Totals Totals
	// OutOfContract is the first schedule with a violation that the lock's contract does not
	// exclude; see [engine.Scenario.OutOfContract].
	OutOfContract          *Failure
	OutOfContractSchedules int // number of such schedules
	// Unsettled is how many schedules reached a bound of time or steps with requests in flight; see
	// [engine.Result].
	Unsettled int
	Effort    Effort

	StatesCapped     bool                   // there were more states than were counted
	Interrupted      bool                   // the context ended before the bounds were reached
	Failure          *Failure               // the first schedule that violates a property
	Nondeterministic *engine.Nondeterminism // a schedule that differed when it was run again

	KeptGoing bool             // failures did not end the search
	Distinct  DistinctFailures // all distinct failures of such a search

	// Of an exhaustive search.
	Exhaustive      bool
	Complete        bool   // no schedule is left; see Reach
	Granted         bool   // a process was granted the lock in some schedule
	FairSuffixes    bool   // the fair phase was begun in every state
	Scope           string // of a complete search: what it covered; see [exhaustive.Search]
	LocalHistories  int    // in the replay cache; 0 without one
	Validated       int    // schedules validated with live processes
	MemoryExhausted bool   // the memory limit was reached
	Unsaved         error  // why the checkpoint could not be written or removed
	Transitions     int    // steps between states
	// Deviations is, of a search by deviations, the number up to which all schedules were run.
	Deviations int
	Untried    int // known steps that were not tried
	CutOff     int // schedules too long to be followed to their end
}

// StrategyStats are the schedules of a campaign that one strategy drew.
type StrategyStats struct {
	Strategy  string `json:"strategy"`
	Schedules int    `json:"schedules"`
	// Behaviours counts the behaviours that no schedule before had shown; only of a portfolio.
	Behaviours int `json:"behaviours"`
	// Failed reports that the strategy drew the schedule that failed.
	Failed bool `json:"found"`
}

// A Failure is a schedule that violates a property.
type Failure struct {
	Schedule   int    // its number in the campaign
	Strategy   string // the name of the strategy that drew it
	Deviations []engine.Deviation
	Violations []*history.Violation
	// OutOfContract are the violations that the lock's contract does not exclude; see
	// [engine.Scenario.OutOfContract].
	OutOfContract []*history.Violation
}

// StatesMax bounds how many states a campaign counts, and the memory for that to 16 MB.
const StatesMax = 1 << 20

// Stats returns the statistics of a strategy.
func (r *Report) Stats(strategy string) *StrategyStats {
	for i := range r.Strategies {
		if r.Strategies[i].Strategy == strategy {
			return &r.Strategies[i]
		}
	}
	r.Strategies = append(r.Strategies, StrategyStats{Strategy: strategy})
	return &r.Strategies[len(r.Strategies)-1]
}

// Finished reports whether nothing cut the search short.
func (r *Report) Finished() bool {
	return (r.Failure == nil || r.KeptGoing) && r.Nondeterministic == nil && !r.Interrupted
}
