package report

import (
	"time"

	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/run/engine"
)

// Totals are what the schedules of a campaign tested, so that a campaign that found nothing can be
// told from one that tried nothing.
type Totals struct {
	Vacuity check.Vacuity
	Cost    check.Cost
	Margins check.Margins
	Reached []int // by sometimes condition: schedules that reached it
}

// An Effort is the time that the schedules of a campaign took, over all workers, and the part of it
// that checkers took. It depends on the machine.
type Effort struct{ Running, Checking time.Duration }

// Add adds a run.
func (s *Totals) Add(result *engine.Result) {
	s.Vacuity.Merge(&result.Vacuity)
	s.Cost.Add(&result.Cost)
	s.Margins.Merge(&result.Margins)
	if s.Reached == nil && len(result.Reached) > 0 {
		s.Reached = make([]int, len(result.Reached))
	}
	for i, reached := range result.Reached {
		if reached {
			s.Reached[i]++
		}
	}
}

// Merge adds the totals of other runs.
func (s *Totals) Merge(other *Totals) {
	s.Vacuity.Merge(&other.Vacuity)
	s.Cost.Add(&other.Cost)
	s.Margins.Merge(&other.Margins)
	if len(s.Reached) == 0 && len(other.Reached) > 0 {
		s.Reached = make([]int, len(other.Reached))
	}
	for i, count := range other.Reached {
		s.Reached[i] += count
	}
}

// CheckingShare returns the checkers' share of the time, from 0 to 1.
func (e Effort) CheckingShare() float64 {
	if e.Running == 0 {
		return 0
	}
	return float64(e.Checking) / float64(e.Running)
}
