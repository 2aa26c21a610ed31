package shrink

import (
	"slices"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/report"
)

// keepsCause reports whether a run may take the place of the smallest schedule so far, whose cause
// counts, and notes its cause if so. No call may be new. A search may find any other failure, so it
// must also keep the faults, unless the cause stays the same without them.
func (s *shrinker) keepsCause(result *engine.Result) bool {
	c := report.CauseOf(result.Events, result.Violations[0])
	if !c.Within(s.cause) || s.searching && !slices.Equal(c.Faults, s.cause.Faults) &&
		c.String() != s.cause.String() {
		return false
	}
	s.cause = &c
	return true
}

// searchAnywhere begins a search, and returns what ends it.
func (s *shrinker) searchAnywhere() (end func()) {
	outer := s.searching
	s.searching = true
	return func() { s.searching = outer }
}

// drop applies the passes that only drop or move something, until none of them finds a smaller
// schedule.
func (s *shrinker) drop() {
	for s.dropFault() || s.dropProcess() || s.dropCycle() || s.fewerDeviations() {
	}
}
