package report

import "math"

// An Exhaustive is the report of an exhaustive search.
type Exhaustive struct {
	Runs

	Complete     bool   // no schedule is left; see Reach
	Scope        string // of a complete search: what it covered; see [exhaustive.Search]
	FairSuffixes bool   // the fair phase was begun in every state
	Granted      bool   // a process was granted the lock in some schedule
	Transitions  int    // steps between states
	// Deviations is, of a search by deviations, the number up to which all schedules were run.
	Deviations int
	Untried    int // known steps that were not tried
	CutOff     int // schedules too long to be followed to their end

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
