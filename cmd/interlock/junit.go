package main

import (
	"encoding/xml"
	"fmt"
	"io"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/search/report"
)

// A junitSuite is a campaign as a suite of JUnit's XML format: a test case for each property, and
// one for the search itself.
type junitSuite struct {
	XMLName    xml.Name         `xml:"testsuite"`
	Name       string           `xml:"name,attr"`
	Tests      int              `xml:"tests,attr"`
	Failures   int              `xml:"failures,attr"`
	Errors     int              `xml:"errors,attr"`
	Skipped    int              `xml:"skipped,attr"`
	Time       string           `xml:"time,attr,omitempty"` // in seconds
	Properties *junitProperties `xml:"properties"`          // nil if there are none
	Cases      []junitCase      `xml:"testcase"`
}

// junitProperties is an element of its own because the format does not allow an empty one.
type junitProperties struct {
	List []junitProperty `xml:"property"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Class    string         `xml:"classname,attr"`
	Name     string         `xml:"name,attr"`
	Time     string         `xml:"time,attr,omitempty"`
	Failures []junitProblem `xml:"failure"`
	Error    *junitProblem  `xml:"error"`
	Skipped  *junitProblem  `xml:"skipped"`
	Output   string         `xml:"system-out,omitempty"`
}

type junitProblem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// searchCase is the name of the test case for the search.
const searchCase = "search"

// junit returns the report as a suite.
func (r *result) junit() *junitSuite {
	runs, class := r.Common(), "interlock."+r.Scenario.Subject.Name
	s := &junitSuite{
		Name: fmt.Sprintf("interlock check %v", r.Campaign),
		Time: fmt.Sprintf("%.3f", runs.Elapsed.Seconds()),
	}
	s.addProperty("seed", fmt.Sprint(r.Seed))
	s.addProperty("schedules", fmt.Sprint(runs.Schedules))
	s.addProperty("trace_digest", r.traceDigest())
	violations := r.violations()
	for _, p := range check.Claimable() {
		s.judge(junitCase{Class: class, Name: string(p), Time: "0"}, r.verdict(p), violations)
	}
	search := junitCase{Class: class, Name: searchCase, Time: s.Time, Output: r.conclusion()}
	switch status, text := exitStatus(r.outcome); {
	case status == exit.Internal:
		search.Error = &junitProblem{Message: text, Type: "error"}
	case status == exit.Violation && runs.Failure == nil:
		search.Failures = []junitProblem{{Message: search.Output, Type: "inconclusive"}}
	}
	s.add(search)
	return s
}

// judge adds the test case of a property with its result.
func (s *junitSuite) judge(t junitCase, verdict report.Verdict, violations []violationReport) {
	for i := range violations {
		v := &violations[i]
		switch {
		case string(v.Property) != t.Name:
		case v.OutOfContract:
			t.Output += v.message() + "\n"
		default:
			t.Failures = append(t.Failures, junitProblem{v.Signature, t.Name, v.message()})
		}
	}
	switch {
	case len(t.Failures) > 0:
	case verdict == report.Violated:
		t.Failures = []junitProblem{{Message: string(verdict), Type: t.Name}}
	case verdict == report.Unknown:
		t.Error = &junitProblem{Message: string(verdict), Type: t.Name}
	case verdict.Skips():
		t.Skipped = &junitProblem{Message: string(verdict)}
	}
	s.add(t)
}

// add adds a test case and counts it.
func (s *junitSuite) add(test junitCase) {
	s.Tests++
	switch {
	case test.Error != nil:
		s.Errors++
	case len(test.Failures) > 0:
		s.Failures++
	case test.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, test)
}

// addProperty adds a property of the whole suite.
func (s *junitSuite) addProperty(name, value string) {
	if s.Properties == nil {
		s.Properties = new(junitProperties)
	}
	s.Properties.List = append(s.Properties.List, junitProperty{name, value})
}

// encodeJUnit writes suites as an XML document.
func encodeJUnit(w io.Writer, suites ...*junitSuite) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(struct {
		XMLName xml.Name `xml:"testsuites"`
		Suites  []*junitSuite
	}{Suites: suites}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
