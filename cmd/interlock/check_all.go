package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"testing"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/cmd/internal/judge"
	"github.com/interlock-sim/interlock/history/check"
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

// checkAll checks each of the locks within the bounds of the flags. It prints a line for each, then
// the smallest margins of all. It ends early after a signal, and if the lines are unwritable. It
// returns the outcome of the first lock that fails.
func (f *checkFlags) checkAll(ctx context.Context, t *testing.T, locks []scenarios.Subject,
	given func(string) bool, stdout, stderr io.Writer,
) error {
	searches, err := f.searches(t, locks, given)
	if err != nil {
		return err
	}
	o, err := f.openOutputs(stdout, stderr)
	if err != nil {
		return err
	}
	if f.json != "" {
		defer ignorePipe()()
	}
	lines := &errorWriter{w: o.text}
	all := &allReport{Version: reportVersion}
	fmt.Fprintf(lines, "checking %s, seed %s\n\n", counted(len(locks), "lock"), f.seed)
	var outcome error
	for i, s := range searches {
		searches[i] = nil // so that its memory can be used for the others
		lock := s.Scenario.Subject.Name
		o.progress.Begin(s.Campaign, lock+": ")
		found := s.Run(ctx, t, o.progress)
		o.progress.Clear()
		r := conclude(ctx, t, s.Campaign, found, o.out, o.progress)
		all.Locks = append(all.Locks, r.json())
		if outcome == nil {
			outcome = r.outcome
		}
		fmt.Fprintf(lines, "%-*s%s\n", lockColumn, lock, r.summary())
		if unwritable(lines.err) || ctx.Err() != nil {
			break
		}
	}
	all.Interrupted = ctx.Err() != nil
	switch {
	case unwritable(lines.err):
		outcome = exit.With(exit.Internal, lines.err)
	case outcome == nil && all.Interrupted:
		outcome = exit.With(exit.Partial, nil)
	}
	all.Status, all.Error = exitStatus(outcome)
	err = o.json.WriteJSON(all)
	writeMarginTable(o.text, all.Locks)
	if all.Interrupted {
		fmt.Fprintf(o.text, "\ninterrupted in lock %d of %d\n", len(all.Locks), len(locks))
	}
	if err != nil {
		return exit.With(exit.Internal, fmt.Errorf("writing the report: %w", err))
	}
	return outcome
}

// searches returns the search of each lock, or an error that names a wrong flag. It draws a random
// seed, so that all locks have the same.
func (f *checkFlags) searches(t *testing.T, locks []scenarios.Subject, given func(string) bool,
) (all []*judge.Search, err error) {
	for _, flag := range []string{
		"junit", "sarif", "shard", "nats", "checkpoint", "threads", schedulerFlag,
	} {
		if given(flag) {
			return nil, fmt.Errorf("--%s needs a single lock, not --lock %s", flag, allLocks)
		}
	}
	for i := range locks {
		f.lock = locks[i].Name
		c, err := f.campaign(given)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.lock, err)
		}
		f.seed = strconv.FormatUint(c.Seed, 10)
		s, err := f.search(t, c)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// summary returns what a search has shown, in a line.
func (r *result) summary() string {
	runs := r.Common()
	ran := counted(runs.Schedules, "schedule")
	if exhaustive, ok := r.Report.(*report.Exhaustive); ok {
		if ran = "all of " + ran; !exhaustive.Complete {
			ran = "incomplete after " + counted(runs.Schedules, "schedule")
		}
	}
	line := fmt.Sprintf("%s, %s", r.conclusion(), ran)
	if runs.Failure != nil {
		line = fmt.Sprintf("VIOLATION %s, in schedule %d", runs.Failure.Violations[0].Signature(),
			runs.Failure.Schedule)
	}
	if n := r.distinct(); n > 1 {
		line += fmt.Sprintf(", first of %d distinct failures", n)
	}
	if len(r.found) > 0 && r.found[0].replay != "" {
		line += ", replay: " + r.found[0].replay
	}
	return line
}

// lockColumn is the width of the column of names of locks.
const lockColumn = 20

// writeMarginTable writes the smallest margins of several locks in seconds, and a dash for a margin
// that no schedule of the lock has measured. If there is none at all, it writes nothing.
func writeMarginTable(w io.Writer, locks []*checkReport) {
	if !slices.ContainsFunc(locks, func(l *checkReport) bool { return len(l.margins()) > 0 }) {
		return
	}
	fmt.Fprintf(w, "\n%-*s", lockColumn, "smallest margin (s)")
	for _, name := range check.MarginNames {
		fmt.Fprintf(w, "  %s", name)
	}
	fmt.Fprintln(w)
	for _, l := range locks {
		fmt.Fprintf(w, "%-*s", lockColumn, l.Lock)
		for _, name := range check.MarginNames {
			seconds := "-"
			if m, measured := l.margins()[name]; measured {
				seconds = report.MarginSeconds(m.Smallest)
			}
			fmt.Fprintf(w, "  %*s", len(name), seconds)
		}
		fmt.Fprintln(w)
	}
}

// margins returns the smallest margins, by name. An exhaustive search measures none.
func (r *checkReport) margins() map[string]check.Margin {
	if r.CampaignReport == nil {
		return nil
	}
	return r.CampaignReport.Margins
}
