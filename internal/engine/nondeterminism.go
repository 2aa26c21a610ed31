package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// A Nondeterminism is a schedule that did not run the same way twice. Either the lock decides
// something that the engine does not control, or the engine has a defect. Until that is fixed, no
// result for the lock can be trusted.
type Nondeterminism struct {
	Schedule int            // its number in the campaign
	Event    int            // index of the first event that differs
	First    *history.Event // in the first run; nil if that had ended
	Second   *history.Event // in the second run; nil if that had ended
}

// Error describes the first difference and its likely causes.
func (n *Nondeterminism) Error() string {
	return fmt.Sprintf("schedule %d did not run the same way twice: event %d was %s, then %s\n%s",
		n.Schedule, n.Event, describe(n.First), describe(n.Second), LikelyCauses)
}

// LikelyCauses are the most frequent causes of nondeterminism.
const LikelyCauses = "likely causes in the lock under test: ranging over a map, " +
	"a select with several cases ready, randomness that is not Process.Random, the wall clock, " +
	"state that outlives a run such as a package's variable, " +
	"or several goroutines racing for the client"

// describe names the event and its attributes.
func describe(e *history.Event) string {
	if e == nil {
		return "missing"
	}
	text := fmt.Sprintf("%q", e.Kind)
	if e.Process > 0 {
		text += " of " + history.ProcessName(e.Process)
	}
	text += fmt.Sprintf(" at %v", e.At)
	for _, field := range []struct{ name, value string }{
		{"op", e.Op},
		{"path", e.Path},
		{"name", e.Name},
		{"error", e.Err},
	} {
		if field.value != "" {
			text += fmt.Sprintf(", %s %q", field.name, field.value)
		}
	}
	return text
}

// FirstDifference returns the first event in which two runs differ.
func FirstDifference(first, second []history.Event) *Nondeterminism {
	d := &Nondeterminism{}
	for d.Event < len(first) && d.Event < len(second) && first[d.Event] == second[d.Event] {
		d.Event++
	}
	if d.Event < len(first) {
		d.First = &first[d.Event]
	}
	if d.Event < len(second) {
		e := second[d.Event]
		d.Second = &e
	}
	return d
}

// RunAgain runs a schedule a second time and compares the events with those of the first run.
func (r *Runner) RunAgain(ctx context.Context, scenario *Scenario, schedule int, strategy Strategy,
	first *Result,
) *Nondeterminism {
	events := slices.Clone(first.Events)
	hash := first.TraceHash
	second := r.RunWithin(ctx, scenario, strategy)
	if second.Cancelled || second.TraceHash == hash {
		return nil
	}
	difference := FirstDifference(events, second.Events)
	difference.Schedule = schedule
	return difference
}
