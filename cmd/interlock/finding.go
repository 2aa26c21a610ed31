package main

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
)

// A finding is a counterexample, and where it has been written down.
type finding struct {
	counterexample *scenarios.Counterexample
	outOfContract  bool   // the lock does not promise what it breaks there
	directory      string // empty if it could not be written
	replay         string
}

// shrink shrinks the schedule that failed, or else the first that broke what the lock does not
// promise; see [scenarios.Runner.Shorten]. It returns nil if there is neither, and an error if the
// schedule does not fail again, unless the report says already that a schedule did not run the same
// way twice.
func shrink(ctx context.Context, t *testing.T, campaign *scenarios.Campaign,
	report *scenarios.Report,
) (*finding, error) {
	counterexample, err := scenarios.NewRunner(t).Shorten(ctx, campaign, report)
	if err != nil && report.Nondeterministic != nil {
		return nil, nil
	}
	if counterexample == nil {
		return nil, err
	}
	counterexample.ReplayBy = replayCommand
	return &finding{counterexample: counterexample, outOfContract: report.Failure == nil}, nil
}

// failureOf returns the schedule of a report that is shown, or nil.
func failureOf(r *scenarios.Report) *scenarios.Failure {
	if r.Failure != nil {
		return r.Failure
	}
	return r.OutOfContract
}

// write writes the counterexample down.
func (f *finding) write(out string) error {
	if f == nil {
		return nil
	}
	directory, err := f.counterexample.Write(out)
	if err != nil {
		return fmt.Errorf("writing the counterexample: %w", err)
	}
	f.directory, f.replay = directory, replayCommand(directory)
	return nil
}

// explain shows what decides the counterexample, and where it stands. Where there is none of what
// was found, because that does not happen again, it names what was broken.
func (f *finding) explain(report *scenarios.Report, w io.Writer) {
	if f == nil {
		if failure := failureOf(report); failure != nil {
			for _, v := range failure.Violations {
				writeViolation(w, v)
			}
		}
		return
	}
	c := f.counterexample
	for _, v := range c.Result.Violations {
		writeViolation(w, v)
		writeOutOfContract(w, &c.Scenario, c.Result, v)
	}
	fmt.Fprintf(w, "\nfound by schedule %d with %d decisions of its own; shortened to %v with "+
		"%d:\n",
		failureOf(report).Schedule,
		len(failureOf(report).Deviations), &c.Scenario, len(c.Recording.Deviations))
	for _, d := range c.Recording.Deviations {
		fmt.Fprintf(w, "  step %d: %v\n", d.Index, d.Step)
	}
	fmt.Fprintln(w)
	c.Timeline().Decisive(w, 0)
	if f.directory != "" {
		fmt.Fprintf(w, "\ncounterexample  %s\nreplay          %s\n", f.directory, f.replay)
	}
}

// writeViolation says what was broken.
func writeViolation(w io.Writer, v *history.Violation) {
	fmt.Fprintf(w, "\nVIOLATION %s\n  %s\n", v.Signature(), v.Detail)
	if v.Guarantee != nil {
		fmt.Fprintf(w, "  %v\n", v.Guarantee)
	}
}
