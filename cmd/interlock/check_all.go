package main

import (
	"context"
	"fmt"
	"io"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/scenarios"
)

// allLocks is the value of --lock for all correct bundled locks.
const allLocks = "all"

// An allReport is the JSON report of check of several locks. Readers should ignore unknown fields.
type allReport struct {
	Version     int            `json:"version"`
	Status      int            `json:"status"` // the exit status
	Interrupted bool           `json:"interrupted"`
	Locks       []*checkReport `json:"locks"` // the searched ones
	Error       string         `json:"error,omitempty"`
}

// A checkedLock is what the search of one of several locks has shown.
type checkedLock struct {
	line    string        // of the text
	margins check.Margins // an exhaustive search measures none
	report  *checkReport
	outcome error // with which a check of this lock alone ends
}

// checkAll checks each of the locks within the bounds of the flags. It prints a line for each, then
// the smallest margins of all. It returns the outcome of the first lock that fails.
func (f *checkFlags) checkAll(ctx context.Context, t *testing.T, locks []scenarios.Subject,
	given func(string) bool, stdout, stderr io.Writer,
) error {
	if err := f.validateAll(locks, given); err != nil {
		return err
	}
	text, outputs, err := f.openOutputs(stdout, stderr)
	if err != nil {
		return err
	}
	if f.json != "" { // The report is written even if the reader of the text has gone.
		signal.Ignore(syscall.SIGPIPE)
		defer signal.Reset(syscall.SIGPIPE)
	}
	lines := &errorWriter{w: text}
	checked, err := f.checkEach(ctx, t, locks, given, lines, stderr)
	if err != nil {
		return err
	}
	interrupted := ctx.Err() != nil
	outcome := firstOutcome(checked)
	switch {
	case unwritable(lines.err):
		outcome = &statusError{statusInternal, lines.err}
	case outcome == nil && interrupted:
		outcome = &statusError{statusPartial, nil}
	}
	err = outputs.json.write(func(w io.Writer) error {
		return encodeJSON(w, newAllReport(checked, interrupted, outcome))
	})
	writeMarginTable(text, checked)
	if interrupted {
		fmt.Fprintf(text, "\ninterrupted in lock %d of %d\n", len(checked), len(locks))
	}
	if err != nil {
		return &statusError{statusInternal, fmt.Errorf("writing the report: %w", err)}
	}
	return outcome
}

// validateAll returns an error that names a wrong flag, or nil. It draws a random seed, so that all
// locks have the same.
func (f *checkFlags) validateAll(locks []scenarios.Subject, given func(string) bool) error {
	for _, flag := range []string{
		"junit", "sarif", "shard", "nats", "checkpoint", "threads", schedulerFlag,
	} {
		if given(flag) {
			return fmt.Errorf("--%s needs a single lock, not --lock %s", flag, allLocks)
		}
	}
	for i := range locks {
		f.lock = locks[i].Name
		c, err := f.campaign(given)
		if err != nil {
			return fmt.Errorf("%s: %w", f.lock, err)
		}
		f.seed = strconv.FormatUint(c.Seed, 10)
	}
	return nil
}

// checkEach checks the locks in order and prints a line for each. It ends early after a signal, and
// if the lines are unwritable.
func (f *checkFlags) checkEach(ctx context.Context, t *testing.T, locks []scenarios.Subject,
	given func(string) bool, lines *errorWriter, stderr io.Writer,
) (checked []*checkedLock, err error) {
	fmt.Fprintf(lines, "checking %s, seed %s\n\n", counted(len(locks), "lock"), f.seed)
	for i := range locks {
		f.lock = locks[i].Name
		c, err := f.campaign(given)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.lock, err)
		}
		one, err := f.checkOne(ctx, t, c, stderr)
		if err != nil {
			return nil, err
		}
		checked = append(checked, one)
		fmt.Fprintf(lines, "%-*s%s\n", lockColumn, f.lock, one.line)
		if unwritable(lines.err) || ctx.Err() != nil {
			break
		}
	}
	return checked, nil
}

// checkOne checks one of several locks. It returns an error if the lock cannot be searched.
func (f *checkFlags) checkOne(ctx context.Context, t *testing.T, c *campaign.Campaign,
	stderr io.Writer,
) (*checkedLock, error) {
	progress := newProgress(f.progressTo(stderr), c)
	progress.label = f.lock + ": "
	run, err := f.search(t, c, progress)
	if err != nil {
		return nil, err
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(min(c.Workers, runtime.GOMAXPROCS(0))))
	searched := run(ctx)
	progress.clear()
	found, unshown := shorten(ctx, t, c, searched, f.out, progress)
	outcome := outcomeOf(c, searched, found, unshown)
	one := &checkedLock{
		line:   summary(c, searched, found),
		report: jsonReport(c, searched, found, outcome), outcome: outcome,
	}
	if ofCampaign, ok := searched.(*report.Campaign); ok {
		one.margins = ofCampaign.Totals.Margins
	}
	return one, nil
}

// summary returns what a search has shown, in a line.
func summary(c *campaign.Campaign, searched report.Report, found []*finding) string {
	runs := searched.Common()
	ran := counted(runs.Schedules, "schedule")
	if exhaustive, ok := searched.(*report.Exhaustive); ok {
		if ran = "all of " + ran; !exhaustive.Complete {
			ran = "incomplete after " + counted(runs.Schedules, "schedule")
		}
	}
	line := fmt.Sprintf("%s, %s", conclusion(c, searched), ran)
	if runs.Failure != nil {
		line = fmt.Sprintf("VIOLATION %s, in schedule %d", runs.Failure.Violations[0].Signature(),
			runs.Failure.Schedule)
	}
	if n := countDistinct(found); n > 1 {
		line += fmt.Sprintf(", first of %d distinct failures", n)
	}
	if len(found) > 0 && found[0].replay != "" {
		line += ", replay: " + found[0].replay
	}
	return line
}

// firstOutcome returns the outcome of the first lock that failed, or nil.
func firstOutcome(checked []*checkedLock) error {
	for _, one := range checked {
		if one.outcome != nil {
			return one.outcome
		}
	}
	return nil
}

func newAllReport(checked []*checkedLock, interrupted bool, outcome error) *allReport {
	all := &allReport{Version: reportVersion, Interrupted: interrupted}
	for _, one := range checked {
		all.Locks = append(all.Locks, one.report)
	}
	all.Status, all.Error = exitStatus(outcome)
	return all
}
