package main

import (
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/explain"
)

// why returns why the violation came about, or nil if no counterexample shows it.
func (v *violationReport) why() *explain.Why {
	if v.shownBy == nil {
		return nil
	}
	return v.shownBy.Counterexample.Why(v.Signature)
}

// message returns the reason of the violation, why it came about, or what went wrong if that is all
// that is known, and how to see it again.
func (v *violationReport) message() string {
	text := v.Detail
	if why := v.why(); why != nil {
		text = why.Text
	}
	text = strings.TrimSpace(v.Signature + "\n" + text)
	if v.Artifact != "" {
		text += "\ncounterexample: " + v.Artifact
	}
	if v.Replay != "" {
		text += "\nreplay: " + v.Replay
	}
	return text
}

// source returns the line of the lock's code that the violation points to, such as
// lock/mutex.go:42, and the function there, or "" if it is unknown.
func (v *violationReport) source() (line, function string) {
	why := v.why()
	if why == nil {
		return v.line, v.function
	}
	return sourceOf(v.shownBy.Counterexample.Result.Events, why.Violation)
}

// sourceOf returns the line of the lock's code that a violation points to: where the process still
// waits if it waits for ever, or else its last request before the violation or, if it had sent
// none, its last request.
func sourceOf(events []history.Event, v *history.Violation) (line, function string) {
	if v.Event < 0 || v.Event >= len(events) {
		return "", ""
	}
	process, end := events[v.Event].Process, events[len(events)-1].Facts
	if v.Property == history.Progress && end != nil {
		for _, wait := range end.Waits {
			if wait.Process == process && wait.Line != "" {
				return wait.Line, wait.Function
			}
		}
	}
	for _, part := range [][]history.Event{events[:v.Event+1], events[v.Event+1:]} {
		for _, e := range slices.Backward(part) {
			if e.Process == process && e.Facts != nil && e.Facts.Line != "" {
				return e.Facts.Line, e.Facts.Function
			}
		}
	}
	return "", ""
}

// splitLine splits a source line such as lock/mutex.go:42 into its file and number.
func splitLine(line string) (file, number string) {
	i := strings.LastIndexByte(line, ':')
	if i < 0 {
		return line, ""
	}
	return line[:i], line[i+1:]
}
