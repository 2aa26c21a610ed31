package main

import (
	"fmt"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/interlock-sim/interlock/cmd/internal/judge/certify"
)

// interruptedPlan says why a certificate is partial.
const interruptedPlan = "the plan was interrupted"

// suites returns a JUnit suite for each lock, with a test case for each property and each check,
// one for each search of a test, and one for the tests and for the recordings. They have no times,
// so that equal plans give equal files.
func (c *certificateReport) suites() []*junitSuite {
	var suites []*junitSuite
	for _, l := range c.Card.Locks {
		s := &junitSuite{Name: "interlock certify " + l.Name}
		for i := range l.Searches {
			s.addProperty("search", l.Searches[i].String())
		}
		for i := range l.Cells {
			cell := &l.Cells[i]
			test := c.testCase(l.Name, string(cell.Property), "")
			if cell.Verdict.Skips() && len(test.Failures) == 0 {
				test.Skipped = &junitProblem{Message: string(cell.Verdict)}
			}
			s.add(test)
		}
		for i := range certify.Checks {
			if check := &certify.Checks[i]; check.OfLock() {
				test := c.testCase(l.Name, check.Name, "")
				if c.Partial && len(test.Failures) == 0 {
					test.Skipped = &junitProblem{Message: interruptedPlan}
				}
				s.add(test)
			}
		}
		suites = append(suites, s)
	}
	for i := range c.Tests {
		for n := range c.Tests[i].Checks {
			v := &c.Tests[i].Checks[n]
			suites = append(suites, suiteOf("interlock certify", v, violationsOf(v)))
		}
	}
	for _, s := range []*junitSuite{c.testSuite(), c.recordingSuite()} {
		if s.Tests > 0 {
			suites = append(suites, s)
		}
	}
	return suites
}

// testSuite returns a suite with a test case for each test.
func (c *certificateReport) testSuite() *junitSuite {
	s := &junitSuite{Name: "interlock certify tests"}
	for i := range c.Tests {
		t := &c.Tests[i]
		test := c.testCase(t.Name(), "", "")
		test.Class, test.Name = "interlock.tests", t.Name()
		if t.Skipped() {
			test.Skipped = &junitProblem{Message: t.Result}
		}
		s.add(test)
	}
	return s
}

// recordingSuite returns a suite with a test case for each recording.
func (c *certificateReport) recordingSuite() *junitSuite {
	s := &junitSuite{Name: "interlock certify recordings"}
	for _, part := range []struct {
		check    string
		replayed []certify.Replayed
	}{{certify.MustFail, c.MustFail}, {certify.MustPass, c.MustPass}} {
		for _, r := range part.replayed {
			test := c.testCase(r.Lock, part.check, r.Recording)
			test.Name += " " + r.Recording
			s.add(test)
		}
	}
	return s
}

// testCase returns the test case of a check of a lock, or of all checks if that is "", and of one
// recording unless that is "".
func (c *certificateReport) testCase(lock, check, recording string) junitCase {
	test := junitCase{Class: "interlock." + lock, Name: check}
	for i := range c.Failures {
		f := &c.Failures[i]
		if f.Lock == lock && (check == "" || f.Check == check) &&
			(recording == "" || f.Recording == recording) {
			test.Failures = append(test.Failures, junitProblem{
				f.Reason, f.Check, f.Reason + c.howToReplay(f),
			})
		}
	}
	return test
}

// sarif returns a SARIF log with a result for each failure. The outcome is the error with which the
// program ends.
func (c *certificateReport) sarif(outcome error) *sarif.Report {
	status, text := exitStatus(outcome)
	if c.Partial {
		text = interruptedPlan
	}
	log, run := newSARIF(status, text)
	for _, check := range certify.Checks {
		addRule(run, check.Name, check.Statement, "releases.md")
	}
	root := checkoutRoot(".")
	for i := range c.Failures {
		f := &c.Failures[i]
		physical := sarif.NewPhysicalLocation()
		if recording := f.File(c.plan, c.out); recording != "" {
			physical.WithArtifactLocation(artifactAt(root, recording))
		} else {
			path, line := c.plan.Where(f.Lock)
			physical.WithArtifactLocation(artifactAt(root, path)).
				WithRegion(sarif.NewRegion().WithStartLine(line))
		}
		addResult(run, f.Check, fmt.Sprintf("%s, %s: %s", f.Lock, f.Check, f.Signature), f.Reason,
			sarif.NewLocationWithPhysicalLocation(physical))
	}
	return log
}
