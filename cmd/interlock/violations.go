package main

import (
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/history"
)

// An explainedViolation is a violation of the report for formats that CI systems read.
type explainedViolation struct {
	violationReport
	why      string // why it came about, or what went wrong if that is all that is known
	line     string // of the lock's code, such as lock/mutex.go:42; empty if unknown
	function string // at that line
}

// explained returns the violations of the JSON report with what their counterexamples say.
func (r *result) explained() (all []explainedViolation) {
	for _, v := range r.violations() {
		explained := explainedViolation{violationReport: v, why: v.Detail}
		for _, f := range r.found {
			if f.directory == v.Artifact {
				explained.explain(f)
			}
		}
		all = append(all, explained)
	}
	return all
}

// explain adds what the counterexample of the violation says.
func (v *explainedViolation) explain(f *finding) {
	for _, why := range f.Counterexample.Explain().Whys {
		if why.Violation.Signature() == v.Signature {
			v.why = why.Text
			v.line, v.function = sourceOf(f.Counterexample.Result.Events, why.Violation)
			return
		}
	}
}

// message returns the reason of the violation, why it came about, and how to see it again.
func (v *explainedViolation) message() string {
	text := v.Signature + "\n" + v.why
	if v.Replay != "" {
		text += "\ncounterexample: " + v.Artifact + "\nreplay: " + v.Replay
	}
	return text
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
