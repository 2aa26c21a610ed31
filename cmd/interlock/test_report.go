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
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/scenarios"
)

// violationsOf returns what a search of a user's lock has found.
func violationsOf(v *recording.Verdict) (all []violationReport) {
	for _, f := range v.Failures {
		name, _, _ := strings.Cut(f.Signature, ":")
		all = append(all, violationReport{
			Property: history.Property(name), Signature: f.Signature,
			Artifact: f.Counterexample, Replay: f.Replay,
		})
	}
	return all
}

// explain reads from the counterexample why the violation came about, and where. If the file is
// missing or cannot be read, the violation keeps its signature only.
func (v *violationReport) explain() {
	recorded, err := recording.Read(v.Artifact)
	if err != nil {
		return
	}
	shown, err := recorded.ReadReport(v.Artifact)
	if err != nil {
		return
	}
	for _, why := range shown.Whys {
		if why.Violation.Signature() == v.Signature {
			v.Detail = why.Text
			v.line, v.function = sourceOf(shown.Timeline.Events, why.Violation)
		}
	}
}

// write writes the reports of tests of packages that the pattern names.
func (o *testOutcome) write(to *outputs, pattern string) error {
	found := make([][]violationReport, len(o.Checks))
	for i := range o.Checks {
		found[i] = violationsOf(&o.Checks[i])
		for n := range found[i] {
			found[i][n].explain()
		}
	}
	root := moduleRoot(strings.TrimSuffix(pattern, "..."))
	return errors.Join(
		to.json.WriteJSON(o),
		to.junit.Write(func(w io.Writer) error { return encodeJUnit(w, o.suites(found)...) }),
		to.sarif.Write(func(w io.Writer) error {
			return file.EncodeJSON(w, o.sarif(root, found))
		}),
	)
}

// failuresIn returns the tests and the packages that failed by the output of go test, without those
// that a check explains.
func (o *testOutcome) failuresIn(printed string) (all []string) {
	var failed []string // of the package whose name follows; "" is the package itself
	for line := range strings.Lines(printed) {
		words := append(strings.Fields(line), "", "", "")
		switch {
		case words[0] == "---" && words[1] == "FAIL:":
			failed = append(failed, words[2])
		case strings.HasPrefix(line, "panic: "), strings.HasPrefix(line, "fatal error: "):
			failed = append(failed, "")
		case strings.HasPrefix(line, "ok  \t"):
			failed = nil
		case strings.HasPrefix(line, "FAIL\t"):
			if len(failed) == 0 {
				failed = []string{""}
			}
			for _, test := range failed {
				if test == "" || !o.explains(words[1], test) {
					all = append(all, strings.TrimSpace(words[1]+" "+test))
				}
			}
			failed = nil
		}
	}
	return all
}

// notIn returns what checks have found, or why they found nothing, unless it was printed.
func (o *testOutcome) notIn(printed string) (all []string) {
	for i := range o.Checks {
		v := &o.Checks[i]
		if reason, _, _ := strings.Cut(v.Reason, "\n"); !strings.Contains(printed, reason) {
			all = append(all, v.Test+": "+v.Reason)
		}
		for _, found := range violationsOf(v) {
			if !strings.Contains(printed, found.Signature) ||
				!strings.Contains(printed, found.Artifact) {
				all = append(all, v.Test+": "+found.message())
			}
		}
	}
	return all
}

// explains reports whether a check of the test, or of one of its subtests, has not passed.
func (o *testOutcome) explains(packaged, test string) bool {
	return slices.ContainsFunc(o.Checks, func(v recording.Verdict) bool {
		return v.Outcome != recording.Passed && v.Package == packaged &&
			(v.Test == test || strings.HasPrefix(v.Test, test+"/"))
	})
}

// suites returns a suite for each search, and one for what else went wrong.
func (o *testOutcome) suites(found [][]violationReport) (suites []*junitSuite) {
	explained := false
	for i := range o.Checks {
		suites = append(suites, suiteOf("interlock test", &o.Checks[i], found[i]))
		explained = explained || o.Checks[i].Outcome != recording.Passed
	}
	if len(o.unexplained) == 0 && o.Status != exit.Interrupted &&
		(explained || o.Status == exit.OK) {
		return suites
	}
	s, test := &junitSuite{Name: "interlock test"}, junitCase{Class: "interlock", Name: "go test"}
	problem := junitProblem{
		Message: cmp.Or(o.Error, "tests failed, as their output says"),
		Text:    strings.Join(o.unexplained, "\n"),
	}
	if o.Status == exit.Violation {
		test.Failures = []junitProblem{problem}
	} else {
		test.Error = &problem
	}
	s.add(test)
	return append(suites, s)
}

// suiteOf returns the suite of a search by the command: a test case for each property that the lock
// claims or violates, and one for the search.
func suiteOf(command string, v *recording.Verdict, found []violationReport) *junitSuite {
	s := &junitSuite{Name: command + " " + v.Test}
	class := strings.Join([]string{"interlock", v.Package, v.Test, v.Lock}, ".")
	s.addProperty("scenario", v.Scenario)
	s.addProperty("seed", fmt.Sprint(v.Seed))
	s.addProperty("schedules", fmt.Sprint(v.Schedules))
	for _, p := range check.Claimable() {
		if verdict := verdictOn(v, p, found); verdict != report.NotClaimed {
			s.judge(junitCase{Class: class, Name: string(p)}, verdict, found)
		}
	}
	search := junitCase{Class: class, Name: searchCase, Output: v.Scenario}
	switch {
	case v.Outcome == recording.Unsound || v.Outcome == recording.Refused:
		search.Error = &junitProblem{Message: cmp.Or(v.Reason, v.Outcome), Type: v.Outcome}
	case v.Outcome == recording.Interrupted:
		search.Skipped = &junitProblem{Message: v.Reason}
	case len(v.Failures) > 0 && v.Schedules == 0:
		search.Skipped = &junitProblem{Message: "the search was not run, or did not end"}
	}
	s.add(search)
	return s
}

// verdictOn returns the verdict of a search on a property. It is unknown if the search can be
// trusted in nothing.
func verdictOn(v *recording.Verdict, p history.Property, found []violationReport) report.Verdict {
	violated := slices.ContainsFunc(found, func(one violationReport) bool {
		return one.Property == p
	})
	return report.Evidence{
		Claimed: violated || slices.Contains(v.Claims, p) || p == history.NoPanic ||
			p == history.NoGoroutineLeak,
		Violated: violated, Schedules: v.Schedules, Undecided: v.Outcome == recording.Unsound,
		Exercised: !slices.Contains(v.Unexercised, string(p)),
	}.Verdict()
}

// sarif returns a SARIF log with a result for each violation. The root is that of the module.
func (o *testOutcome) sarif(root string, found [][]violationReport) *sarif.Report {
	log, run := newSARIF(o.Status, o.Error)
	for i := range o.Checks {
		c := &o.Checks[i]
		for n := range found[i] {
			v := &found[i][n]
			fingerprint := fmt.Sprintf("%s %s: %s", c.Package, c.Test, v.Signature)
			result := addResult(run, string(v.Property), fingerprint, v.message(),
				sarifLocation(root, v.line, v.function, v.Artifact))
			result.Properties = sarif.NewPropertyBag().Add("test", c.Test).
				Add("artifact", v.Artifact).Add("replay", v.Replay)
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

// An activity writes the output of tests, and says what is going on while there is none: on a
// terminal for as long as that is so, elsewhere once.
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
	a.timer = time.AfterFunc(silence, a.say)
	return a
}

// say prints the line if there was no output. It comes again unless that was the only time.
func (a *activity) say() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer == nil {
		return // It has ended.
	}
	silent := time.Since(a.last) >= silence
	if silent && !a.progress.Terminal {
		a.progress.Print(a.label)
		return
	}
	if silent {
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

// writeSearched says what each search without a finding has run, as the tests do with -v.
func (o *testOutcome) writeSearched(w io.Writer) {
	for i := range o.Checks {
		c := &o.Checks[i]
		if c.Outcome != recording.Passed || c.Schedules == 0 {
			continue
		}
		fmt.Fprintf(w, "%s: %s: nothing found in %d schedules", c.Test, c.Scenario, c.Schedules)
		if len(c.Unexercised) > 0 {
			fmt.Fprintf(w, "\nclaimed and not exercised: %s", strings.Join(c.Unexercised, ", "))
		}
		fmt.Fprintln(w, c.DescribeUnclaimed())
	}
}
