package referee

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/history"
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

	runner *engine.Runner
}

// New returns a referee whose bounds let it judge a lock in tenths of a second.
func New(t *testing.T) *Referee {
	return &Referee{Walks: 400, Enumerated: 400, Schedules: 20_000, runner: engine.NewRunner(t)}
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
)

// String returns the verdict in words.
func (v Verdict) String() string {
	return [...]string{"agree", "found", "unfinished", "loss", "false alarm"}[v]
}

// Judge runs the search on a lock and compares it with plain runs. The schedule is that of the
// plain run that decides a [Loss], or the refuted one of a [FalseAlarm]; the report is that of the
// search.
func (r *Referee) Judge(t *testing.T, l *Lock) (verdict Verdict, schedule []engine.Deviation,
	report *report.Exhaustive,
) {
	e := &exhaustive.Search{Scenario: l.Scenario(), Schedules: r.Schedules}
	if r.Search != nil {
		r.Search(e)
	}
	report = e.Run(context.Background(), t)
	switch {
	case report.Nondeterministic != nil:
		return FalseAlarm, nil, report
	case report.Failure != nil:
		if r.breaks(&e.Scenario, l.Claim,
			&engine.Replay{Deviations: report.Failure.Deviations}) == nil {
			return FalseAlarm, report.Failure.Deviations, report
		}
		return Found, nil, report
	case !report.Complete:
		return Unfinished, nil, report
	}
	if schedule = r.refute(l, &e.Scenario); schedule != nil {
		return Loss, schedule, report
	}
	return Agree, nil, report
}

// refute searches for a schedule that breaks the claim. It returns nil if it finds none.
func (r *Referee) refute(l *Lock, s *scenarios.Scenario) []engine.Deviation {
	claim := l.Claim
	if l.breakingWalk > 0 {
		if found := r.breaks(s, claim, newRandomWalk(l.breakingWalk)); found != nil {
			return found
		}
	}
	all := new(enumeration)
	for range r.Enumerated {
		if found := r.breaks(s, claim, all); found != nil {
			return found
		}
		if !all.next() {
			return nil // All schedules of maximal progress have run.
		}
	}
	for number := range r.Walks {
		if found := r.breaks(s, claim, newRandomWalk(number)); found != nil {
			return found
		}
	}
	return nil
}

// breaks runs a schedule. It returns the deviations if the run breaks the claim, nil otherwise.
func (r *Referee) breaks(s *scenarios.Scenario, claim history.Property,
	strategy engine.Strategy,
) []engine.Deviation {
	result := r.runner.Run(s, strategy)
	for _, v := range result.Violations {
		if v.Property == claim && !result.OutOfContract(s, v) {
			return append([]engine.Deviation{}, result.Deviations...)
		}
	}
	return nil
}

// Shrink returns a lock with the same verdict, each of whose reductions has another verdict.
func (r *Referee) Shrink(t *testing.T, l *Lock, verdict Verdict) *Lock {
	for smaller := l; smaller != nil; {
		l, smaller = smaller, nil
		for _, candidate := range l.reductions() {
			if v, _, _ := r.Judge(t, candidate); v == verdict {
				smaller = candidate
				break
			}
		}
	}
	return l
}

// reductions returns the locks that result from removing one element.
func (l *Lock) reductions() (smaller []*Lock) {
	change := func(edit func(*Lock)) {
		c := *l
		c.Programs = slices.Clone(l.Programs)
		for i := range c.Programs {
			p := &c.Programs[i]
			p.Lock, p.Unlock, p.Grant.Again = slices.Clone(p.Lock), slices.Clone(p.Unlock),
				slices.Clone(p.Grant.Again)
		}
		edit(&c)
		smaller = append(smaller, &c)
	}
	if l.Clients > 2 {
		change(func(c *Lock) { c.Clients-- })
	}
	if l.Cycles > 1 {
		change(func(c *Lock) { c.Cycles-- })
	}
	if l.Servers > 1 {
		change(func(c *Lock) { c.Servers = 0 })
	}
	for i := range l.Programs {
		p := &l.Programs[i]
		for _, part := range []func(*Program) *[]Op{
			func(p *Program) *[]Op { return &p.Lock }, func(p *Program) *[]Op { return &p.Unlock },
			func(p *Program) *[]Op { return &p.Grant.Again },
		} {
			for n, op := range *part(p) {
				change(func(c *Lock) {
					ops := part(&c.Programs[i])
					*ops = slices.Delete(*ops, n,
						n+1)
				})
				if op.Yes != GoOn {
					change(func(c *Lock) { (*part(&c.Programs[i]))[n].Yes = GoOn })
				}
				if op.No != GoOn {
					change(func(c *Lock) { (*part(&c.Programs[i]))[n].No = GoOn })
				}
				if op.In != 0 {
					change(func(c *Lock) { (*part(&c.Programs[i]))[n].In = 0 })
				}
			}
		}
		if p.Grant.Reenters {
			change(func(c *Lock) { c.Programs[i].Grant.Reenters = false })
		}
		for _, field := range []func(*Grant) *string{
			func(g *Grant) *string { return &g.Node },
			func(g *Grant) *string { return &g.Tells },
			func(g *Grant) *string { return &g.Resource },
		} {
			if *field(&p.Grant) != "" {
				change(func(c *Lock) { *field(&c.Programs[i].Grant) = "" })
			}
		}
		if p.Grant.Token != NoToken {
			change(func(c *Lock) { c.Programs[i].Grant.Token = NoToken })
		}
	}
	return smaller
}

// Describe returns a report of the verdict on a lock.
func Describe(l *Lock, verdict Verdict, schedule []engine.Deviation,
	report *report.Exhaustive,
) string {
	text := fmt.Sprintf("%v: %d schedules", verdict, report.Schedules)
	if report.Failure != nil {
		text += fmt.Sprintf(", found %s", report.Failure.Violations[0].Signature())
	}
	if report.Nondeterministic != nil {
		text += ", " + report.Nondeterministic.Error()
	}
	return fmt.Sprintf("%s\n%s\nschedule %v", text, l, schedule)
}
