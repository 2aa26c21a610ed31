package scenarios

import (
	"time"

	"github.com/interlock-sim/interlock/history"
)

// Totals are what the schedules of a campaign tested, so that a campaign that found nothing can be
// told from one that tried nothing.
type Totals struct {
	Vacuity history.Vacuity
	Cost    history.Cost
	Unknown int   // schedules whose linearizability is unknown
	Reached []int // by sometimes condition: schedules that reached it
}

// An Effort is the time that the schedules of a campaign took, over all workers, and the part of it
// that checkers took. It depends on the machine.
type Effort struct{ Running, Checking time.Duration }

// add adds a run.
func (s *Totals) add(result *Result) {
	s.Vacuity.Merge(&result.Vacuity)
	s.Cost.Add(&result.Cost)
	if result.Undecided {
		s.Unknown++
	}
	if s.Reached == nil && len(result.Reached) > 0 {
		s.Reached = make([]int, len(result.Reached))
	}
	for i, reached := range result.Reached {
		if reached {
			s.Reached[i]++
		}
	}
}

// merge adds the totals of other runs.
func (s *Totals) merge(other *Totals) {
	s.Vacuity.Merge(&other.Vacuity)
	s.Cost.Add(&other.Cost)
	s.Unknown += other.Unknown
	if s.Reached == nil {
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

// A SometimesCount says how many schedules of a campaign reached a sometimes condition.
type SometimesCount struct {
	Name string `json:"name"`
	// the scenario has the processes and faults that the condition needs
	Applicable bool `json:"applicable"`
	Schedules  int  `json:"schedules"`
}

// SometimesCounts returns the counts of the subject's sometimes conditions.
func (c *Campaign) SometimesCounts(r *Report) []SometimesCount {
	counts := make([]SometimesCount, len(c.Scenario.Subject.Sometimes))
	for i := range counts {
		condition := &c.Scenario.Subject.Sometimes[i]
		counts[i] = SometimesCount{Name: condition.Name, Applicable: c.Scenario.offers(condition)}
		if i < len(r.Totals.Reached) {
			counts[i].Schedules = r.Totals.Reached[i]
		}
	}
	return counts
}

// NeverReached returns the names of the sometimes conditions that the campaign could have reached
// and has not. It returns none for a campaign that was cut short, and for an exhaustive search.
func (c *Campaign) NeverReached(r *Report) []string {
	var missed []string
	if !r.finished() || r.Exhaustive || r.Schedules < sometimesAfter {
		return nil
	}
	for _, condition := range c.SometimesCounts(r) {
		if condition.Applicable && condition.Schedules == 0 {
			missed = append(missed, condition.Name)
		}
	}
	return missed
}

// sometimesAfter is how many schedules a campaign must have run before an unreached condition
// counts against it. In so many schedules even the rarest condition of package history is reached
// twenty times by the locks that have it.
const sometimesAfter = 5000
