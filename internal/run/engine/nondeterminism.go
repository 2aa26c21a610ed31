package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/scheduler"
	"github.com/interlock-sim/interlock/scenarios"
)

// A Nondeterminism is a schedule that did not run the same way twice. Either the lock decides
// something that the engine does not control, or the engine has a defect. A violation that such a
// lock shows is real, but may not occur again in the same schedule.
type Nondeterminism struct {
	Schedule int            // its number in the campaign
	Event    int            // index of the first event that differs
	First    *history.Event // in the first run; nil if that had ended
	Second   *history.Event // in the second run; nil if that had ended
	// Line is the call in the code under test that sent the first differing request, or one call or
	// the other; "" if unknown.
	Line string
	// Text is the description by another program; "" if the other fields have it.
	Text string
}

// Error describes the first difference and its likely causes.
func (n *Nondeterminism) Error() string {
	if n.Text != "" {
		return n.Text
	}
	at := ""
	if n.Line != "" {
		at = " at " + n.Line
	}
	return fmt.Sprintf("schedule %d did not run the same way twice%s: event %d was %s, then %s\n%s",
		n.Schedule, at, n.Event, describe(n.First), describe(n.Second), LikelyCauses)
}

// LikelyCauses are the most frequent causes of nondeterminism, and the remedy if there is one.
var LikelyCauses = "likely causes in the lock under test: ranging over a map, " +
	"a select with several cases ready, randomness that is not Process.Random, the wall clock, " +
	"state that outlives a run such as a package's variable, " +
	"or several goroutines racing for the client" + remedy()

func remedy() string {
	if scheduler.Enabled {
		return ""
	}
	return "\ngoroutines and select follow the schedule with " +
		`GOFLAGS="$(interlock scheduler)" go test, or interlock check --scheduler`
}

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
	for d.Event < len(first) && d.Event < len(second) && same(first[d.Event], second[d.Event]) {
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
func (r *Runner) RunAgain(ctx context.Context, scenario *scenarios.Scenario, schedule int,
	strategy Strategy,
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

// same reports whether two events are equal, but for their facts.
func same(a, b history.Event) bool {
	a.Facts, b.Facts = nil, nil
	return a == b
}

// locateRuns is how many runs [Runner.Locate] compares with the first.
const locateRuns = 4

// Locate sets the line of a nondeterminism. It runs the schedule again until two runs differ, at
// most a few times. Strategy returns the strategy that draws the schedule.
func (r *Runner) Locate(ctx context.Context, scenario *scenarios.Scenario, strategy func() Strategy,
	n *Nondeterminism,
) {
	r.GatherFacts(true)
	defer r.GatherFacts(false)
	first := slices.Clone(r.RunWithin(ctx, scenario, strategy()).Events)
	for range locateRuns {
		second := r.RunWithin(ctx, scenario, strategy())
		if second.Cancelled {
			return
		}
		d := FirstDifference(first, second.Events)
		if d.First != nil || d.Second != nil {
			n.Line = firstLine(first[d.Event:], second.Events[d.Event:])
			return
		}
	}
}

// firstLine returns the line of the first request in the rest of two runs, or both lines if each
// has one there. It returns "" if there is no request.
func firstLine(first, second []history.Event) string {
	for i := range max(len(first), len(second)) {
		one, other := lineAt(first, i), lineAt(second, i)
		switch {
		case one != "" && other != "" && one != other:
			return one + " or " + other
		case one != "" || other != "":
			return cmp.Or(one, other)
		}
	}
	return ""
}

// lineAt returns the line that sent the request of an event. It returns "" if it is no request.
func lineAt(events []history.Event, i int) string {
	if i >= len(events) || events[i].Kind != history.Send || events[i].Facts == nil {
		return ""
	}
	return events[i].Facts.Line
}
