package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/likelihood"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/shrink"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/scenarios"
)

// A finding is a shrunk counterexample and the directory to which it was written.
type finding struct {
	failure        *report.Failure  // that was shrunk
	distinct       []shrink.Failure // that it shows, if the search kept going
	counterexample *recording.Counterexample
	outOfContract  bool   // every violation is out of contract
	directory      string // empty if it could not be written
	replay         string // the command that replays it
}

// shorten shrinks the schedule that failed or, if none did, the first that violated a property out
// of contract; see [shrink.Shorten]. If the search kept going, it shrinks each distinct failure
// instead. It writes each counterexample to a directory below out before it shrinks the next.
//
// It returns an error if a schedule never fails again, unless the report records nondeterminism
// already, or if a counterexample cannot be written.
func shorten(ctx context.Context, t *testing.T, campaign *campaign.Campaign,
	r report.Report, out string, progress *progress,
) (found []*finding, err error) {
	report := r.Common()
	keep := func(c *recording.Counterexample, f *finding) {
		c.ReplayBy = replayCommand
		f.counterexample = c
		err = errors.Join(err, f.write(out))
		found = append(found, f)
	}
	if len(report.Distinct) == 0 {
		c, failed := shrink.Shorten(ctx, engine.NewRunner(t), campaign, report)
		if c != nil {
			c.Likelihood = likelihood.Of(ctx, engine.NewRunner(t), &c.Scenario,
				c.Recording.Deviations, c.Recording.Signature)
			keep(c, &finding{failure: failureOf(report), outOfContract: report.Failure == nil})
		}
		err = errors.Join(err, failed)
	}
	begin := func(index int) { progress.shrinking(report, index) }
	for group := range shrink.Distinct(ctx, t, campaign, report, begin) {
		if group.Err != nil {
			err = errors.Join(err, group.Err)
			continue
		}
		keep(group.Counterexample,
			&finding{failure: group.Schedule, distinct: group.Failures})
	}
	progress.clear()
	if report.Nondeterministic != nil && len(found) == 0 {
		return nil, nil
	}
	return found, err
}

// failureOf returns the failure that the report shows: the one within the contract, else the one
// outside, else nil.
func failureOf(r *report.Runs) *report.Failure {
	if r.Failure != nil {
		return r.Failure
	}
	return r.OutOfContract
}

// write writes the counterexample to a directory below out.
func (f *finding) write(out string) error {
	directory, err := f.counterexample.Write(out)
	if err != nil {
		return fmt.Errorf("writing the counterexample: %w", err)
	}
	f.directory, f.replay = directory, replayCommand(directory)
	return nil
}

// writeFindings prints each counterexample. Without one, because the schedule did not fail again,
// it prints the violations of the report.
func writeFindings(w io.Writer, report *report.Runs, found []*finding) {
	if failure := failureOf(report); failure != nil && len(found) == 0 {
		for _, v := range failure.Violations {
			writeViolation(w, v)
		}
	}
	if len(report.Distinct) > 0 {
		fmt.Fprintf(w, "\n%s, shown by %s\n", counted(countDistinct(found), "distinct failure"),
			counted(len(found), "counterexample"))
	}
	for _, f := range found {
		f.explain(w, report.Schedules)
	}
}

// explain prints the violations, the shrunk schedule, the decisive part of its timeline, and where
// the counterexample is. Of a search that kept going it prints how many of its schedules failed in
// this way, and leaves the timeline to replay.
func (f *finding) explain(w io.Writer, schedules int) {
	c := f.counterexample
	explained := c.Explain()
	fitTerminal(explained, w)
	for n, why := range explained.Whys {
		d := f.distinctOf(why.Violation)
		if d == nil && len(f.distinct) > 0 {
			continue // Another counterexample shows it, or no schedule of the search had it.
		}
		fmt.Fprintln(w)
		explained.Why(w, why)
		writeOutOfContract(w, &c.Scenario, c.Result, why.Violation)
		if n == 0 {
			explained.WriteLikelihood(w)
		}
		if d != nil {
			fmt.Fprintf(w, "  cause: %s\n  by any cause in %d of %s, first in schedule %d\n",
				d.Cause.String(), d.Schedules, counted(schedules, "schedule"), d.First.Schedule)
		}
	}
	fmt.Fprintf(w, "\nfound in schedule %d (%s), shrunk to %s in %v:\n", f.failure.Schedule,
		counted(len(f.failure.Deviations), "deviation"),
		counted(len(c.Recording.Deviations), "deviation"), &c.Scenario)
	if n := c.Recording.Reproduces; n.Runs > 0 {
		fmt.Fprintln(w, n)
	}
	listed := c.Recording.Deviations
	if len(f.distinct) > 0 {
		listed = listed[:min(len(listed), distinctSteps)]
	}
	fmt.Fprintln(w, recording.ListDeviations(c.Result, listed))
	if n := len(c.Recording.Deviations) - len(listed); n > 0 {
		fmt.Fprintf(w, "  and %d more\n", n)
	}
	if len(f.distinct) == 0 {
		explained.Decisive(w)
	}
	if f.directory != "" {
		fmt.Fprintf(w, "\ncounterexample  %s\nreplay          %s\n", f.directory, f.replay)
	}
}

// writeWhys prints why each violation came about, and how likely the first one was.
func writeWhys(w io.Writer, report *explain.Report, s *scenarios.Scenario, r *engine.Result) {
	for n, why := range report.Whys {
		fmt.Fprintln(w)
		report.Why(w, why)
		writeOutOfContract(w, s, r, why.Violation)
		if n == 0 {
			report.WriteLikelihood(w)
		}
	}
}

// distinctSteps is how many deviations are printed of each of several counterexamples.
const distinctSteps = 10

// distinctOf returns the distinct failure that a violation of the counterexample shows, or nil.
func (f *finding) distinctOf(v *history.Violation) *shrink.Failure {
	for i := range f.distinct {
		if f.distinct[i].Signature == v.Signature() {
			return &f.distinct[i]
		}
	}
	return nil
}

// countDistinct returns the number of distinct failures that findings show.
func countDistinct(found []*finding) (n int) {
	for _, f := range found {
		n += len(f.distinct)
	}
	return n
}

// writeViolation prints a violation.
func writeViolation(w io.Writer, v *history.Violation) {
	fmt.Fprintf(w, "\nVIOLATION %s\n  %s\n", v.Signature(), v.Detail)
	if v.Guarantee != nil {
		fmt.Fprintf(w, "  %v\n", v.Guarantee)
	}
}

// counted returns a number and a noun, in the plural unless the number is one.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
