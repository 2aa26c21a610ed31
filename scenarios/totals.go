package scenarios

import (
	"time"

	"github.com/interlock-sim/interlock/history"
)

// A Totals is what the schedules of a campaign have tested, so that one that found nothing can be
// told from one that tried nothing.
type Totals struct {
	Vacuity history.Vacuity
	Cost    history.Cost
	Unknown int   // schedules of which it was not found out whether they are linearizable
	Reached []int // for each goal of the subject, how many schedules have reached it
}

// Effort is how long the schedules of a campaign took, over all workers, and how long of that their
// checks did. It depends on the machine.
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

// merge adds another survey.
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

// CheckingShare returns which part of the time of the schedules their checks took, from 0 to 1.
func (e Effort) CheckingShare() float64 {
	if e.Running == 0 {
		return 0
	}
	return float64(e.Checking) / float64(e.Running)
}

// A SometimesCount says how many schedules of a campaign have reached a goal.
type SometimesCount struct {
	Name string `json:"name"`
	// the scenario has the processes and the faults that the goal takes
	Applicable bool `json:"applicable"`
	Schedules  int  `json:"schedules"`
}

// SometimesCounts returns how often each goal of the campaign's subject was reached.
func (c *Campaign) SometimesCounts(r *Report) []SometimesCount {
	goals := make([]SometimesCount, len(c.Scenario.Subject.Sometimes))
	for i := range goals {
		goal := &c.Scenario.Subject.Sometimes[i]
		goals[i] = SometimesCount{Name: goal.Name, Applicable: c.Scenario.offers(goal)}
		if i < len(r.Totals.Reached) {
			goals[i].Schedules = r.Totals.Reached[i]
		}
	}
	return goals
}

// NeverReached returns the names of the goals that a campaign could have reached and has not. One
// that was cut short by a failure, or by a signal, has not missed anything, nor has an exhaustive
// search, whose schedules share what they have in common.
func (c *Campaign) NeverReached(r *Report) []string {
	var missed []string
	if !r.finished() || r.Exhaustive || r.Schedules < sometimesAfter {
		return nil
	}
	for _, goal := range c.SometimesCounts(r) {
		if goal.Applicable && goal.Schedules == 0 {
			missed = append(missed, goal.Name)
		}
	}
	return missed
}

// goalsAfter is how many schedules a campaign must have run to be blamed for a goal that it has not
// reached: by then even the rarest of the goals of package history are reached twenty times by the
// locks that have them.
const sometimesAfter = 5000
