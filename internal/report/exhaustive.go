package report

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

	LocalHistories  int   // in the replay cache; 0 without one
	Validated       int   // schedules validated with live processes
	MemoryExhausted bool  // the memory limit was reached
	Unsaved         error // why the checkpoint could not be written or removed
}
