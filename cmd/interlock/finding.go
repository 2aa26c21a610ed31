package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/cmd/internal/judge"
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

// A result is what a search has shown of a lock.
type result struct {
	*campaign.Campaign
	report.Report
	found   []*finding
	outcome error // with which the program ends, nil for status 0
}

// A finding is a shrunk counterexample and the directory to which it was written.
type finding struct {
	*shrink.Group
	outOfContract bool   // every violation is out of contract
	directory     string // empty if it could not be written
	replay        string // the command that replays it
}

// conclude returns the result of a search. It shrinks what the search has found; see
// [judge.Shrink]. It writes each counterexample to a directory below out before it shrinks the
// next.
func conclude(ctx context.Context, t *testing.T, c *campaign.Campaign, searched report.Report,
	out string, progress *judge.Progress,
) *result {
	r, runs := &result{Campaign: c, Report: searched}, searched.Common()
	var unshown error
	begin := func(index int) { progress.Shrinking(runs, index) }
	for group := range judge.Shrink(ctx, t, c, searched, begin) {
		if group.Err != nil {
			unshown = errors.Join(unshown, group.Err)
			continue
		}
		f, short := &finding{Group: group}, group.Counterexample
		if len(group.Failures) == 0 {
			f.outOfContract = runs.Failure == nil
			short.Likelihood = likelihood.Of(ctx, engine.NewRunner(t), &short.Scenario,
				short.Recording.Deviations, short.Recording.Signature)
		}
		unshown = errors.Join(unshown, f.write(out))
		r.found = append(r.found, f)
	}
	progress.Clear()
	if runs.Nondeterministic != nil && len(r.found) == 0 {
		unshown = nil
	}
	r.outcome = r.end(unshown)
	return r
}

// end returns the outcome. The error unshown says why there is no counterexample of a violation, or
// why it could not be written.
func (r *result) end(unshown error) error {
	runs, unsaved := r.Common(), unsavedOf(r.Report)
	switch {
	case unshown != nil:
		return exit.With(exit.Internal, unshown)
	case len(r.found) > 0 && !r.found[0].outOfContract:
		return exit.With(exit.Violation, nil)
	case runs.Nondeterministic != nil:
		return exit.With(exit.Internal, runs.Nondeterministic)
	case runs.Schedules == 0 && !runs.Interrupted:
		return exit.With(exit.Internal, errors.New("no schedule was run, so no property "+
			"was checked"))
	case runs.Failure == nil && !runs.Interrupted && r.lacking() != "":
		return exit.With(exit.Violation, nil)
	case runs.Unknown > 0:
		return errUnknownVerdict
	case unsaved != nil:
		return exit.With(exit.Internal, fmt.Errorf("--checkpoint: %w", unsaved))
	case runs.Interrupted:
		return exit.With(exit.Partial, nil)
	}
	return nil
}

// unsavedOf returns why the checkpoint of an incomplete search could not be written, or nil.
func unsavedOf(r report.Report) error {
	if exhaustive, ok := r.(*report.Exhaustive); ok && !exhaustive.Complete {
		return exhaustive.Unsaved
	}
	return nil
}

// errUnknownVerdict ends a command that found no violation, but gave up on a check.
var errUnknownVerdict = exit.With(exit.Internal,
	errors.New("a checker reached its limit, so a verdict is unknown"))

// write writes the counterexample to a directory below out.
func (f *finding) write(out string) error {
	f.Counterexample.ReplayBy = replayCommand
	directory, err := f.Counterexample.Write(out)
	if err != nil {
		return fmt.Errorf("writing the counterexample: %w", err)
	}
	f.directory, f.replay = directory, replayCommand(directory)
	return nil
}

// writeFindings prints each counterexample. Without one, because the schedule did not fail again,
// it prints the violations of the report.
func (r *result) writeFindings(w io.Writer) {
	runs := r.Common()
	if failure := judge.Failure(runs); failure != nil && len(r.found) == 0 {
		for _, v := range failure.Violations {
			writeViolation(w, v)
		}
	}
	if len(runs.Distinct) > 0 {
		fmt.Fprintf(w, "\n%s, shown by %s\n", counted(r.distinct(), "distinct failure"),
			counted(len(r.found), "counterexample"))
	}
	for _, f := range r.found {
		f.explain(w, runs.Schedules)
	}
}

// explain prints the violations, the shrunk schedule, the decisive part of its timeline, and where
// the counterexample is. Of a search that kept going it prints how many of its schedules failed in
// this way, and leaves the timeline to replay.
func (f *finding) explain(w io.Writer, schedules int) {
	c := f.Counterexample
	explained := c.Explain()
	fitTerminal(explained, w)
	for n, why := range explained.Whys {
		d := f.distinctOf(why.Violation)
		if d == nil && len(f.Failures) > 0 {
			continue // Another counterexample shows it, or no schedule of the search had it.
		}
		writeWhy(w, explained, n, &c.Scenario, c.Result)
		if d != nil {
			fmt.Fprintf(w, "  cause: %s\n  by any cause in %d of %s, first in schedule %d\n",
				d.Cause.String(), d.Schedules, counted(schedules, "schedule"), d.First.Schedule)
		}
	}
	fmt.Fprintf(w, "\nfound in schedule %d (%s), shrunk to %s in %v:\n", f.Schedule.Schedule,
		counted(len(f.Schedule.Deviations), "deviation"),
		counted(len(c.Recording.Deviations), "deviation"), &c.Scenario)
	if n := c.Recording.Reproduces; n.Runs > 0 {
		fmt.Fprintln(w, n)
	}
	listed := c.Recording.Deviations
	if len(f.Failures) > 0 {
		listed = listed[:min(len(listed), distinctSteps)]
	}
	fmt.Fprintln(w, recording.ListDeviations(c.Result, listed))
	if n := len(c.Recording.Deviations) - len(listed); n > 0 {
		fmt.Fprintf(w, "  and %d more\n", n)
	}
	if len(f.Failures) == 0 {
		explained.Decisive(w)
		explained.WriteLikelihood(w)
	}
	if f.directory != "" {
		fmt.Fprintf(w, "\ncounterexample  %s\nreplay          %s\n", f.directory, f.replay)
	}
}

// writeWhy prints why a violation came about.
func writeWhy(w io.Writer, explained *explain.Report, n int, s *scenarios.Scenario,
	r *engine.Result,
) {
	fmt.Fprintln(w)
	explained.Why(w, explained.Whys[n])
	writeOutOfContract(w, s, r, explained.Whys[n].Violation)
}

// distinctSteps is how many deviations are printed of each of several counterexamples.
const distinctSteps = 10

// distinctOf returns the distinct failure that a violation of the counterexample shows, or nil.
func (f *finding) distinctOf(v *history.Violation) *shrink.Failure {
	for i := range f.Failures {
		if f.Failures[i].Signature == v.Signature() {
			return &f.Failures[i]
		}
	}
	return nil
}

// distinct returns the number of distinct failures that the findings show.
func (r *result) distinct() (n int) {
	for _, f := range r.found {
		n += len(f.Failures)
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

var counted = report.Counted
