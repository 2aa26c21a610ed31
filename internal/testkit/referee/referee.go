package referee

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/scenarios"
)

// A Referee compares searches with plain runs. It is not safe for concurrent use.
type Referee struct {
	// random walks through a lock for which the search finds no violation
	Walks      int
	Enumerated int                      // schedules enumerated of such a lock
	Schedules  int                      // the most schedules of a search
	Search     func(*exhaustive.Search) // if set, changes the search before it runs

	t      *testing.T
	runner *engine.Runner
	last   *engine.Result // of the runner
}

// New returns a referee whose bounds let it judge a lock in tenths of a second.
func New(t *testing.T) *Referee {
	return &Referee{
		Walks: 400, Enumerated: 400, Schedules: 20_000, t: t, runner: engine.NewRunner(t),
	}
}

// A Verdict is the referee's verdict on a search.
type Verdict uint8

// The verdicts.
const (
	// the search is complete without a violation, and plain runs find none
	Agree      Verdict = iota
	Found              // the search found a violation, and a plain run confirms it
	Unfinished         // the search reached its bound
	// the search is complete without a violation, and a plain run finds one
	Loss
	// the search found a violation that a plain run refutes, or nondeterminism
	FalseAlarm
	verdicts // the number of verdicts
)

// String returns the verdict in words.
func (v Verdict) String() string {
	return [...]string{"agree", "found", "unfinished", "loss", "false alarm"}[v]
}

// Errs reports whether the verdict is that a search is wrong.
func (v Verdict) Errs() bool { return v == Loss || v == FalseAlarm }

// A Judgement is the verdict on a lock.
type Judgement struct {
	Verdict Verdict
	// of the plain run that decides a [Loss], or the refuted one of a [FalseAlarm]
	Schedule []engine.Deviation
	Report   *report.Exhaustive // of the search
}

// Judge runs the search on a lock and compares it with plain runs.
func (r *Referee) Judge(l *Lock) (j Judgement) {
	s := l.Scenario()
	j.Report = r.search(l, &s)
	switch {
	case j.Report.Nondeterministic != nil:
		j.Verdict = FalseAlarm
	case j.Report.Failure != nil:
		j.Verdict = Found
		found := j.Report.Failure
		replay := &engine.Replay{Deviations: found.Deviations}
		if r.breaks(&s, found.Violations[0].Property, replay) == nil {
			j.Verdict, j.Schedule = FalseAlarm, found.Deviations
		}
	case !j.Report.Complete:
		j.Verdict = Unfinished
	default:
		if j.Schedule = r.refute(l, &s); j.Schedule != nil {
			j.Verdict = Loss
		}
	}
	return j
}

// soloSchedules is how many schedules one worker runs before others join: few, because most
// searches are short.
const soloSchedules = 20

// search runs the search of the lock.
func (r *Referee) search(l *Lock, s *scenarios.Scenario) *report.Exhaustive {
	v := l.Search
	bound := r.Schedules / dimensionOf(l).cost()
	for part := cmp.Or(v.Part, bound); ; part *= 4 {
		e := &exhaustive.Search{
			Scenario: *s, Symmetry: v.Symmetry, FairSuffixes: v.FairSuffixes,
			IdleTicks: v.IdleTicks, Schedules: min(part, bound),
		}
		if v.Workers > 1 {
			e.Workers, e.Solo, e.Schedules = v.Workers, soloSchedules, 0
		}
		if v.Part > 0 {
			e.Checkpoint = filepath.Join(r.t.TempDir(), "checkpoint")
			if err := e.Resume(r.t); err != nil {
				r.t.Fatal(err)
			}
		}
		if r.Search != nil {
			r.Search(e)
		}
		result := e.Run(context.Background(), r.t)
		if result.Complete || result.Failure != nil || result.Nondeterministic != nil ||
			v.Workers > 1 || part >= bound {
			os.Remove(e.Checkpoint)
			return result
		}
	}
}

// refute searches for a schedule that breaks the claim. It returns nil if it finds none.
func (r *Referee) refute(l *Lock, s *scenarios.Scenario) []engine.Deviation {
	if l.breakingWalk >= 0 {
		if found := r.breaks(s, l.Claim, newRandomWalk(l, l.breakingWalk)); found != nil {
			return found
		}
	}
	all, cost := &enumeration{pace: pace{lock: l}}, dimensionOf(l).cost()
	for range r.Enumerated / cost {
		if found := r.breaks(s, l.Claim, all); found != nil {
			return found
		}
		if !all.next() {
			break // All schedules within the scope have run, but for the fair phase.
		}
	}
	for number := range r.Walks / cost {
		if found := r.breaks(s, l.Claim, newRandomWalk(l, number)); found != nil {
			return found
		}
	}
	return nil
}

// breaks runs a schedule. It returns the deviations if the run breaks the property, nil otherwise.
func (r *Referee) breaks(s *scenarios.Scenario, property history.Property,
	strategy engine.Strategy,
) []engine.Deviation {
	if order, ok := strategy.(engine.GoroutineStrategy); ok {
		r.runner.Goroutines = order
	}
	r.last = r.runner.Run(s, strategy)
	for _, v := range r.last.Violations {
		if v.Property == property && !r.last.OutOfContract(s, v) {
			return append([]engine.Deviation{}, r.last.Deviations...)
		}
	}
	return nil
}

// exercised returns how often the last run tested the property.
func (r *Referee) exercised(s *scenarios.Scenario, property history.Property) int {
	var tested check.Vacuity
	tested.Add(r.last.Events, s.Subject.EffectiveLimits())
	return tested.Of(property)
}

// Describe returns a report of the verdict on a lock.
func (j *Judgement) Describe(l *Lock) string {
	text := fmt.Sprintf("%v: %d schedules", j.Verdict, j.Report.Schedules)
	if j.Report.Failure != nil {
		text += fmt.Sprintf(", found %s", j.Report.Failure.Violations[0].Signature())
	}
	if j.Report.Nondeterministic != nil {
		text += ", " + j.Report.Nondeterministic.Error()
	}
	return fmt.Sprintf("%s\n%s\nschedule %v", text, l, j.Schedule)
}
