package scenarios

import (
	"time"

	"github.com/interlock-sim/interlock/history"
)

// A Survey is what the schedules of a campaign have tested, so that one that found nothing can be told from one that tried
// nothing.
type Survey struct {
	Exercise history.Exercise
	Cost     history.Cost
	Unknown  int   // schedules of which it was not found out whether they are linearizable
	Reached  []int // for each goal of the subject, how many schedules have reached it
}

// Effort is how long the schedules of a campaign took, over all workers, and how long of that their checks did. It depends
// on the machine.
type Effort struct{ Running, Checking time.Duration }

// add adds a run.
func (s *Survey) add(result *Result) {
	s.Exercise.Merge(&result.Exercise)
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
func (s *Survey) merge(other *Survey) {
	s.Exercise.Merge(&other.Exercise)
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

// A GoalCount says how many schedules of a campaign have reached a goal.
type GoalCount struct {
	Name       string `json:"name"`
	Applicable bool   `json:"applicable"` // the scenario has the processes and the faults that the goal takes
	Schedules  int    `json:"schedules"`
}

// Goals returns how often each goal of the campaign's subject was reached.
func (c *Campaign) Goals(r *Report) []GoalCount {
	goals := make([]GoalCount, len(c.Scenario.Subject.Goals))
	for i := range goals {
		goal := &c.Scenario.Subject.Goals[i]
		goals[i] = GoalCount{Name: goal.Name, Applicable: c.Scenario.offers(goal)}
		if i < len(r.Survey.Reached) {
			goals[i].Schedules = r.Survey.Reached[i]
		}
	}
	return goals
}

// Missed returns the names of the goals that a campaign could have reached and has not. One that was cut short by a
// failure, or by a signal, has not missed anything, nor has an exhaustive search, whose schedules share what they have in
// common.
func (c *Campaign) Missed(r *Report) []string {
	var missed []string
	if !r.finished() || r.Exhaustive || r.Schedules < goalsAfter {
		return nil
	}
	for _, goal := range c.Goals(r) {
		if goal.Applicable && goal.Schedules == 0 {
			missed = append(missed, goal.Name)
		}
	}
	return missed
}

// goalsAfter is how many schedules a campaign must have run to be blamed for a goal that it has not reached: by then even
// the rarest of the goals of package history are reached twenty times by the locks that have them.
const goalsAfter = 5000
