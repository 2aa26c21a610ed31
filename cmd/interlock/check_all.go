package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/interlock-sim/interlock/internal/report"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// allLocks is the value of --lock for all correct bundled locks.
const allLocks = "all"

// checkAll checks each correct bundled lock within the bounds of the flags, and prints a line for
// each. It returns the error of the first lock that fails.
func (f *checkFlags) checkAll(ctx context.Context, t *testing.T, given func(string) bool,
	stdout, stderr io.Writer,
) (first error) {
	for _, flag := range []string{
		"json", "junit", "sarif", "shard", "nats", "checkpoint", "threads", schedulerFlag,
	} {
		if given(flag) {
			return fmt.Errorf("--%s needs a single lock, not --lock %s", flag, allLocks)
		}
	}
	if err := checkWritable(f.out); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	locks := subjects.Correct()
	for i := range locks { // Before any search, so that a wrong flag costs no time.
		f.lock = locks[i].Name
		if _, err := f.campaign(given); err != nil {
			return fmt.Errorf("%s: %w", f.lock, err)
		}
	}
	for i := range locks {
		f.lock = locks[i].Name
		line, err := f.checkOne(ctx, t, given, stderr)
		if line == "" {
			return err
		}
		if _, failed := fmt.Fprintf(stdout, "%-20s%s\n", f.lock, line); failed != nil {
			return &statusError{statusInternal, failed}
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			fmt.Fprintf(stdout, "interrupted in lock %d of %d\n", i+1, len(locks))
			if first == nil {
				first = &statusError{statusPartial, nil}
			}
			break
		}
	}
	return first
}

// checkOne checks the lock that f.lock names, and returns its line and its outcome. If the line is
// empty, the lock could not be searched.
func (f *checkFlags) checkOne(ctx context.Context, t *testing.T, given func(string) bool,
	stderr io.Writer,
) (line string, err error) {
	c, err := f.campaign(given)
	if err != nil {
		return "", fmt.Errorf("%s: %w", f.lock, err)
	}
	progress := newProgress(f.progressTo(stderr), c)
	progress.label = f.lock + ": "
	run, err := f.search(t, c, progress)
	if err != nil {
		return "", err
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(min(c.Workers, runtime.GOMAXPROCS(0))))
	searched := run(ctx)
	progress.clear()
	found, unshown := shorten(ctx, t, c, searched, f.out, progress)
	outcome := outcomeOf(c, searched, found, unshown)
	runs := searched.Common()
	ran := counted(runs.Schedules, "schedule")
	if exhaustive, ok := searched.(*report.Exhaustive); ok {
		if ran = "all of " + ran; !exhaustive.Complete {
			ran = "incomplete after " + counted(runs.Schedules, "schedule")
		}
	}
	if runs.Failure == nil {
		return fmt.Sprintf("%s, %s", conclusion(c, searched), ran), outcome
	}
	line = fmt.Sprintf("VIOLATION %s, in schedule %d", runs.Failure.Violations[0].Signature(),
		runs.Failure.Schedule)
	if len(found) > 0 {
		line += ", replay: " + found[0].replay
	}
	return line, outcome
}
