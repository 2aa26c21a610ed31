package report

import (
	"math"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/stateset"
)

// An Exhaustive is the report of an exhaustive search.
type Exhaustive struct {
	Runs

	Scope       Scope // what the search covers if it is complete
	Complete    bool  // no schedule is left; see Reach
	Covered     bool  // the same, but some schedules were cut off, unsettled or nondeterministic
	Granted     bool  // a process was granted the lock in some schedule
	Transitions int   // steps between states
	// Deviations is, of a search by deviations, the number up to which all schedules were run.
	Deviations int
	Untried    int // known steps that were not tried
	CutOff     int // schedules too long to be followed to their end

	// Part is the part that was run of a search by deviations, or nil if that is all of it.
	Part *Part

	// Workers is how many workers have shared the search, or 0 if one was alone. If they did, the
	// counts depend on their speed, those of schedules and states only slightly, and there is no
	// digest.
	Workers int

	Bitstate *Bitstate // of a search that notes states in a fixed number of bits, or nil

	LocalHistories  int   // in the replay cache; 0 without one
	Validated       int   // schedules validated with live processes
	MemoryExhausted bool  // the memory limit was reached
	Unsaved         error // why the checkpoint could not be written or removed
}

// A Bitstate says how far a search by bitstate hashing can be relied on.
type Bitstate struct {
	Bytes int
	// Omissions is the expected number of reached states that were taken for visited ones, so that
	// what follows on them alone is missing. States that are reached only from there are not part
	// of it.
	Omissions float64
}

// Omits returns the probability that at least one reached state was taken for a visited one.
func (b *Bitstate) Omits() float64 { return -math.Expm1(-b.Omissions) }

// A Part is what a shard of a search by deviations has run. The search is one of schedules with at
// most one deviation, then one with at most two, and so on; a part has some schedules of each, in
// their order. Complete is false in the report of a part.
type Part struct {
	Shard  Shard
	Levels []Level // by bound on deviations, from 1 on
	// Guiding is how many schedules of other parts were run to find this one. They count nowhere.
	Guiding int
}

// A Level is the part's share in the schedules with a bound on deviations.
type Level struct {
	Exhaustive // States are those of the part up to this bound
	Edges
	Keys stateset.Keys // of states that no lower bound had
}

// Edges say where a part begins and ends. Each is the first schedule from there on, which is not
// nil, or nil if the search has none. So parts that join have all schedules of the search.
type Edges struct {
	Begin []engine.Deviation `json:"begin"`
	End   []engine.Deviation `json:"end"`
}

// Append adds the report of the schedules that follow in the same search, except for their states.
func (r *Exhaustive) Append(later *Exhaustive) {
	r.append(&later.Runs)
	r.Granted = r.Granted || later.Granted
	r.Transitions += later.Transitions
	r.CutOff += later.CutOff
	r.Untried = later.Untried
	r.MemoryExhausted = later.MemoryExhausted
}

// Cover says that nothing is left to try in the scope, with schedules of that many deviations at
// most, or any number if that is 0.
func (r *Exhaustive) Cover(deviations int) {
	r.Covered, r.Untried, r.Deviations = true, 0, deviations
	r.Complete = r.Part == nil && r.Bitstate == nil && r.CutOff+r.Unsettled+r.Differing == 0
}
