package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/cmd/internal/judge"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/base/file"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/scenarios"
)

// An ownViolation is a violation that a test of a user's lock has found.
type ownViolation struct {
	recording.Failure

	property       history.Property
	why            string // in words, or ""
	line, function string // of the lock's code, or ""
}

// violationsOf returns what a search has found, from its counterexamples. One that was not written,
// or cannot be read, has no more than a signature.
func violationsOf(v *recording.Verdict) (all []ownViolation) {
	for _, failure := range v.Failures {
		name, _, _ := strings.Cut(failure.Signature, ":")
		one := ownViolation{Failure: failure, property: history.Property(name)}
		one.explain()
		all = append(all, one)
	}
	return all
}

// explain reads from the counterexample why the violation came about, and where.
func (v *ownViolation) explain() {
	recorded, err := recording.Read(v.Counterexample)
	if err != nil {
		return
	}
	report, err := recorded.ReadReport(v.Counterexample)
	if err != nil {
		return
	}
	for _, why := range report.Whys {
		if why.Violation.Signature() == v.Signature {
			v.why = why.Text
			v.line, v.function = sourceOf(report.Timeline.Events, why.Violation)
		}
	}
}

// message returns the reason of the violation, why it came about, and how to see it again.
func (v *ownViolation) message() string {
	text := v.Signature
	if v.why != "" {
		text += "\n" + v.why
	}
	if v.Counterexample != "" {
		text += "\ncounterexample: " + v.Counterexample
	}
	if v.Replay != "" {
		text += "\nreplay: " + v.Replay
	}
	return text
}

// write writes the reports of tests in the module at the root. Ended is the error with which the
// program ends.
func (o *testOutcome) write(to *outputs, root string, ended error) error {
	return errors.Join(
		to.json.WriteJSON(o),
		to.junit.Write(func(w io.Writer) error { return encodeJUnit(w, o.suites(ended)...) }),
		to.sarif.Write(func(w io.Writer) error {
			return file.EncodeJSON(w, o.sarif(root, ended))
		}),
	)
}

// suites returns a suite for each search, and one for a failure that none of them explains.
func (o *testOutcome) suites(ended error) (suites []*junitSuite) {
	for i := range o.Checks {
		suites = append(suites, suiteOf(&o.Checks[i]))
	}
	status, text := exitStatus(ended)
	if status == exit.OK || status == exit.Interrupted || slices.ContainsFunc(o.Checks,
		func(v recording.Verdict) bool { return v.Outcome != recording.Passed }) {
		return suites
	}
	s, test := &junitSuite{Name: "interlock test"}, junitCase{Class: "interlock", Name: "go test"}
	problem := junitProblem{Message: cmp.Or(text, "a test failed, as its output says")}
	if status == exit.Violation {
		test.Failures = []junitProblem{problem}
	} else {
		test.Error = &problem
	}
	s.add(test)
	return append(suites, s)
}

// suiteOf returns the suite of a search: a test case for each property that is violated, and one
// for the search.
func suiteOf(v *recording.Verdict) *junitSuite {
	s, class := &junitSuite{Name: "interlock test " + v.Test}, "interlock."+v.Lock
	s.addProperty("scenario", v.Scenario)
	s.addProperty("seed", fmt.Sprint(v.Seed))
	s.addProperty("schedules", fmt.Sprint(v.Schedules))
	failures := map[history.Property][]junitProblem{}
	for _, found := range violationsOf(v) {
		failures[found.property] = append(failures[found.property], junitProblem{
			found.Signature, string(found.property), found.message(),
		})
	}
	for _, p := range check.Claimable() {
		if len(failures[p]) > 0 {
			s.add(junitCase{Class: class, Name: string(p), Failures: failures[p]})
		}
	}
	search := junitCase{Class: class, Name: searchCase, Output: v.Scenario}
	if v.Outcome == recording.Unsound || v.Outcome == recording.Refused {
		search.Error = &junitProblem{Message: v.Outcome, Type: "error"}
	}
	s.add(search)
	return s
}

// sarif returns a SARIF log with a result for each violation.
func (o *testOutcome) sarif(root string, ended error) *sarif.Report {
	log, run := newSARIF(exitStatus(ended))
	for i := range o.Checks {
		for _, v := range violationsOf(&o.Checks[i]) {
			result := addResult(run, string(v.property), v.Signature, v.message(),
				sarifLocation(root, v.line, v.function, v.Counterexample))
			result.Properties = sarif.NewPropertyBag().Add("test", o.Checks[i].Test).
				Add("artifact", v.Counterexample).Add("replay", v.Replay)
		}
	}
	return log
}

// writeCoverage prints the faults that struck and the smallest margins of each search.
func (o *testOutcome) writeCoverage(w io.Writer) {
	for i := range o.Checks {
		c := &o.Checks[i]
		if c.Coverage == nil && c.Margins == nil {
			continue // a replay, or a search without faults
		}
		fmt.Fprintf(w, "\n%s: %s\n", c.Test, c.Scenario)
		var planned []faults.Kind
		var coverage engine.FaultCoverage
		for kind := range faults.Kinds {
			phases, ok := c.Coverage[kind.String()]
			if ok {
				planned = append(planned, kind)
			}
			for phase := range faults.Phases {
				coverage[kind][phase] = phases[phase.String()]
			}
		}
		writeFaultCoverage(w, planned, &coverage)
		var margins check.Margins
		for i, name := range check.MarginNames {
			margins[i] = c.Margins[name]
		}
		writeMargins(w, &margins, &scenarios.Subject{})
	}
}

// An activity writes the output of tests, and says on a terminal what is going on while there is
// none.
type activity struct {
	mu       sync.Mutex
	w        io.Writer
	progress *judge.Progress
	label    string
	began    time.Time
	last     time.Time // of an output
	shown    bool      // since then
	timer    *time.Timer
}

// silence is how long nothing is printed before an activity says what is going on.
const silence = 2 * time.Second

// watch returns the activity of tests of a package.
func watch(o *outputs, pattern string) *activity {
	now := time.Now()
	a := &activity{
		w: o.text, progress: o.progress, label: "building and testing " + pattern,
		began: now, last: now,
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.progress.Terminal {
		a.timer = time.AfterFunc(silence, a.say)
	}
	return a
}

// say prints the line if there was no output, and comes again.
func (a *activity) say() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer == nil {
		return // It has ended.
	}
	if time.Since(a.last) >= silence {
		a.shown = true
		a.progress.Print(fmt.Sprintf("%v: %s", time.Since(a.began).Truncate(time.Second), a.label))
	}
	a.timer.Reset(time.Second)
}

// Write implements [io.Writer].
func (a *activity) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clear()
	a.last = time.Now()
	return a.w.Write(p)
}

// end removes the line, and ends the activity.
func (a *activity) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
	a.clear()
}

// clear removes the line, and nothing that was written after it.
func (a *activity) clear() {
	if a.shown {
		a.progress.Clear()
	}
	a.shown = false
}
