package shrink

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/show/recording"
)

const (
	// distinctCostMin is the cost that each signature may take at least, however many there are.
	distinctCostMin = costMax / 6
	// candidateCost bounds the cost of finding the cause of a candidate.
	candidateCost = costMax / 24
	// causeCost is the cost that each of several causes of a signature may take after that.
	causeCost = costMax / 24
)

// A Failure stands for the violations of a search with the same signature and the same cause.
type Failure struct {
	*report.DistinctFailure
	Cause report.Cause // none if the schedule does not fail again
}

// A Group is the failures that one counterexample shows.
type Group struct {
	Schedule       *report.Failure           // that was shrunk
	Failures       []Failure                 // the one for which it was shrunk comes first
	Counterexample *recording.Counterexample // nil if there is an error
	Err            error                     // the schedule does not fail when it is run again
}

// Distinct shrinks a schedule of each cause of the distinct failures of a search that kept going,
// in the order of these, and records it as [Shorten] does. A schedule is shrunk so that its cause
// stays, or loses parts. Of schedules with the same cause the shortest counts. A counterexample
// also stands for all later failures that it shows. The failures share the cost that a single one
// may take, within a minimum for each. When the context ends, the first schedule of each remaining
// failure is recorded as it was found.
//
// Before it shrinks the schedules of a failure, Distinct calls begin with its index.
func Distinct(ctx context.Context, t *testing.T, c *campaign.Campaign, found report.Report,
	begin func(index int),
) iter.Seq[*Group] {
	return func(yield func(*Group) bool) {
		t.Helper() // It calls the body of the caller's loop.
		r := found.Common()
		s := &separator{ctx: ctx, t: t, campaign: c, failures: r.Distinct}
		s.budget = max(distinctCostMin, costMax/max(1, len(r.Distinct)))
		for i := range r.Distinct {
			for _, cause := range r.Distinct[i].Known {
				s.shown = append(s.shown, Failure{&r.Distinct[i], cause})
			}
		}
		for i := range r.Distinct {
			begin(i)
			for _, group := range s.groups(&r.Distinct[i]) {
				s.shown = append(s.shown, group.Failures...)
				if !yield(group) {
					return
				}
			}
		}
	}
}

// A separator tells the causes of failures apart.
type separator struct {
	ctx      context.Context
	t        *testing.T
	campaign *campaign.Campaign
	failures report.DistinctFailures
	budget   int       // for each signature
	shown    []Failure // by the groups so far
}

// groups returns a group for each cause of a failure that none has shown yet.
func (s *separator) groups(failure *report.DistinctFailure) (groups []*Group) {
	candidates := s.candidates(failure)
	if len(candidates) == 0 {
		if slices.ContainsFunc(s.shown,
			func(f Failure) bool { return f.Signature == failure.Signature }) {
			return nil
		}
		c, err := shorten(s.ctx, engine.NewRunner(s.t), s.campaign, failure.First,
			failure.Signature, s.budget)
		return []*Group{s.group(failure, failure.First, c, err)}
	}
	budget := s.budget
	if len(candidates) > 1 {
		budget = causeCost
	}
	for _, one := range candidates {
		// A counterexample is valid until the next run of its runner.
		one.runner, one.costMax = engine.NewRunner(s.t), one.cost+budget
		one.withinPlan(one.shrink)
	}
	for _, one := range candidates {
		c, err := one.record(s.campaign, one.failure, failure.Signature, budget)
		one.group = s.group(failure, one.failure, c, err)
		one.cause = one.group.Failures[0].Cause
	}
	for _, one := range s.distinct(failure, candidates) {
		groups = append(groups, one.group)
	}
	slices.SortFunc(groups, func(a, b *Group) int {
		return cmp.Compare(a.Schedule.Schedule, b.Schedule.Schedule)
	})
	return groups
}

// A candidate is a shrinker of a schedule with a cause of its own.
type candidate struct {
	*shrinker
	failure *report.Failure
	cause   report.Cause
	group   *Group // once it is shrunk
}

// candidates drops what the candidates of a failure do not need, and returns the smallest one of
// each cause that no group shows.
func (s *separator) candidates(failure *report.DistinctFailure) (found []*candidate) {
	if failure.First.Unstable {
		return nil
	}
	runner := engine.NewRunner(s.t)
	for i := range failure.Candidates {
		f := failure.Candidates[i].Failure
		one := &candidate{failure: f, shrinker: newShrinker(s.ctx, runner,
			s.campaign.ScenarioOf(f), f.Deviations, failure.Signature, candidateCost)}
		one.shrinker.cause = &failure.Candidates[i].Cause
		failed := false
		one.withinPlan(func() {
			if failed = one.begin(); failed {
				one.drop()
			}
		})
		if !failed {
			continue
		}
		c, err := recording.NewCounterexample(runner, one.outcome(), one.deviations,
			failure.Signature, s.campaign.Seed, f.Schedule)
		if err != nil {
			continue
		}
		one.cause, _ = causeIn(c, failure.Signature)
		found = append(found, one)
	}
	return s.distinct(failure, found)
}

// distinct returns the candidates whose causes neither a group shows nor another candidate covers.
// Of those with the same cause it returns the smallest.
func (s *separator) distinct(failure *report.DistinctFailure, all []*candidate,
) (kept []*candidate) {
	slices.SortStableFunc(all, func(a, b *candidate) int {
		return cmp.Or(a.cause.Compare(&b.cause), slices.Compare(a.size[:], b.size[:]))
	})
	for _, one := range all {
		if !s.shows(failure.Signature, &one.cause) && !slices.ContainsFunc(kept,
			func(o *candidate) bool { return o.cause.Covers(&one.cause) }) {
			kept = append(kept, one)
		}
	}
	return kept
}

// shows reports whether a group so far shows a violation with the signature and the cause.
func (s *separator) shows(signature string, cause *report.Cause) bool {
	return slices.ContainsFunc(s.shown, func(f Failure) bool {
		return f.Signature == signature && f.Cause.Covers(cause)
	})
}

// group returns the group of a counterexample of a failure. It also stands for the violations of
// later failures within the contract that no other group shows.
func (s *separator) group(failure *report.DistinctFailure, shrunk *report.Failure,
	c *recording.Counterexample, err error,
) *Group {
	group := &Group{Schedule: shrunk, Counterexample: c, Err: err}
	if err != nil {
		group.Failures = []Failure{{DistinctFailure: failure}}
		return group
	}
	cause, _ := causeIn(c, failure.Signature)
	group.Failures = []Failure{{failure, cause}}
	at := slices.IndexFunc(s.failures,
		func(f report.DistinctFailure) bool { return f.Signature == failure.Signature })
	for i := at + 1; i < len(s.failures); i++ {
		other := &s.failures[i]
		if cause, ok := causeIn(c, other.Signature); ok &&
			!s.shows(other.Signature, &cause) {
			group.Failures = append(group.Failures, Failure{other, cause})
		}
	}
	return group
}

// causeIn returns the cause of the violation with a signature within the contract that a
// counterexample shows, or false.
func causeIn(c *recording.Counterexample, signature string) (cause report.Cause, ok bool) {
	for _, v := range c.Result.Violations {
		if v.Signature() == signature && !c.Result.OutOfContract(&c.Scenario, v) {
			return report.CauseOf(c.Result.Events, v), true
		}
	}
	return report.Cause{}, false
}
