package main

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// A report counts the schedules that did not quiesce.
func TestReportOfUnsettledSchedules(t *testing.T) {
	campaign := &campaign.Campaign{Scenario: scenarios.Scenario{
		Subject: subjects.Textbook(),
		Clients: 1, Cycles: 1,
	}}
	r := &report.Exhaustive{Runs: report.Runs{Schedules: 8, Unsettled: 3}}
	one := &result{Campaign: campaign, Report: r}
	if out := one.json(); out.Unsettled != 3 || out.Complete {
		t.Errorf("unsettled %d, complete %v", out.Unsettled, out.Complete)
	}
	var text bytes.Buffer
	one.write(&text)
	for _, want := range []string{
		"\nincomplete: ",
		"\n3 schedules ended at a time or step bound with requests in flight\n",
		"\nno violation found, but 3 schedules did not quiesce",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
}

// If a schedule does not fail again, there is no counterexample: the reports have the violations
// found, and the status is 3.
func TestReportWithoutCounterexample(t *testing.T) {
	broken := &history.Violation{
		Property: history.FIFO, Reason: "as it was",
		Detail: "c1 before c2",
	}
	campaign := &campaign.Campaign{Scenario: scenarios.Scenario{
		Subject: subjects.Textbook(),
		Clients: 2, Cycles: 1,
	}}
	r := &report.Campaign{Runs: report.Runs{Schedules: 8, Failure: &report.Failure{
		Schedule:   7,
		Violations: []*history.Violation{broken},
	}}}
	one := &result{Campaign: campaign, Report: r}
	one.outcome = one.end(errors.New("it does not fail again"))
	if status, text := exitStatus(one.outcome); status != exit.Internal ||
		text != "it does not fail again" {
		t.Errorf("status %d, %q", status, text)
	}
	out := one.json()
	want := violationReport{
		Property: history.FIFO, Signature: "fifo: as it was",
		Detail: "c1 before c2", Schedule: 7,
	}
	if len(out.Violations) != 1 || !reflect.DeepEqual(out.Violations[0], want) {
		t.Errorf("violations %+v", out.Violations)
	}
	for _, p := range out.Properties {
		if violates := p.Name == history.FIFO; (p.Verdict == report.Violated) != violates {
			t.Errorf("%s: %s", p.Name, p.Verdict)
		}
	}
	var text bytes.Buffer
	one.write(&text)
	one.writeFindings(&text)
	if !strings.Contains(text.String(), "\n  fifo                     violated\n") ||
		!strings.HasSuffix(text.String(), "\nVIOLATION fifo: as it was\n  c1 before c2\n") ||
		strings.Contains(text.String(), "no violation") {
		t.Errorf("printed as\n%s", &text)
	}
}
