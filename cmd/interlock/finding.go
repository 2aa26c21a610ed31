package main

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/campaign"
	"github.com/interlock-sim/interlock/internal/engine"
	"github.com/interlock-sim/interlock/internal/recording"
	"github.com/interlock-sim/interlock/internal/report"
	"github.com/interlock-sim/interlock/internal/shrink"
)

// A finding is a shrunk counterexample and the directory to which it was written.
type finding struct {
	counterexample *recording.Counterexample
	outOfContract  bool   // every violation is out of contract
	directory      string // empty if it could not be written
	replay         string // the command that replays it
}

// shrink shrinks the schedule that failed or, if none did, the first that violated a property out
// of contract; see [shrink.Shorten]. It returns nil if there is neither. It returns an
// error if the schedule does not fail again, unless the report records nondeterminism already.
func shorten(ctx context.Context, t *testing.T, campaign *campaign.Campaign,
	report *report.Report,
) (*finding, error) {
	counterexample, err := shrink.Shorten(ctx, engine.NewRunner(t), campaign, report)
	if err != nil && report.Nondeterministic != nil {
		return nil, nil
	}
	if counterexample == nil {
		return nil, err
	}
	counterexample.ReplayBy = replayCommand
	return &finding{counterexample: counterexample, outOfContract: report.Failure == nil}, nil
}

// failureOf returns the failure that the report shows: the one within the contract, else the one
// outside, else nil.
func failureOf(r *report.Report) *report.Failure {
	if r.Failure != nil {
		return r.Failure
	}
	return r.OutOfContract
}

// write writes the counterexample to a directory below out.
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

// explain prints the violations, the shrunk schedule, the decisive part of its timeline, and where
// the counterexample is. Without a counterexample, because the schedule did not fail again, it
// prints the violations of the report.
func (f *finding) explain(report *report.Report, w io.Writer) {
	failure := failureOf(report)
	if f == nil {
		if failure != nil {
			for _, v := range failure.Violations {
				writeViolation(w, v)
			}
		}
		return
	}
	c := f.counterexample
	explained := c.Explain()
	fitTerminal(explained, w)
	for _, why := range explained.Whys {
		fmt.Fprintln(w)
		explained.Why(w, why)
		writeOutOfContract(w, &c.Scenario, c.Result, why.Violation)
	}
	fmt.Fprintf(w, "\nfound in schedule %d (%s), shrunk to %s in %v:\n", failure.Schedule,
		counted(len(failure.Deviations), "deviation"),
		counted(len(c.Recording.Deviations), "deviation"), &c.Scenario)
	fmt.Fprintln(w, engine.ListDeviations(c.Recording.Deviations))
	explained.Decisive(w)
	if f.directory != "" {
		fmt.Fprintf(w, "\ncounterexample  %s\nreplay          %s\n", f.directory, f.replay)
	}
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
