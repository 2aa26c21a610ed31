package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// docs/command-line.md documents every field of the JSON reports.
func TestReportIsDocumented(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "..", "docs", "command-line.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []any{
		allReport{},
		checkReport{},
		CampaignReport{},
		ExhaustiveReport{},
		propertyReport{},
		costReport{},
		violationReport{},
		report.StrategyStats{},
		faults.Severity{},
		replayReport{},
		recordedReport{},
		replayViolation{},
		engine.Deviation{},
		judgement{},
		lockJSON{},
		defectJSON{},
	} {
		kind := reflect.TypeOf(value)
		for i := range kind.NumField() {
			name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
			if name != "" && !strings.Contains(string(content), "`"+name+"`") {
				t.Errorf("%v: docs/command-line.md does not have `%s`", kind, name)
			}
		}
	}
}

// A campaign without a violation fails if it has not reached a sometimes condition of its lock.
func TestGoalNeverReached(t *testing.T) {
	subject := subjects.Textbook()
	subject.Sometimes = []history.Sometimes{check.Contention, {
		Name:    "something that never happens",
		Clients: 1, Reached: func([]history.Event) bool { return false },
	}}
	campaign := &campaign.Campaign{
		Seed: 1, Schedules: 5000, Workers: 1,
		Scenario: scenarios.Scenario{Subject: subject, Clients: 2, Cycles: 1},
	}
	var stdout, stderr bytes.Buffer
	directory := t.TempDir()
	err := runCheck(t.Context(), t, campaign,
		&checkFlags{reportFlags: reportFlags{
			out: directory, json: filepath.Join(directory, "report.json"),
		}}, &stdout, &stderr)
	var status *exit.Error
	if !errors.As(err, &status) || status.Status != exit.Violation {
		t.Errorf("error %v, stderr %q", err, &stderr)
	}
	if want := "\nno violation found, but the result is inconclusive: sometimes conditions never " +
		"reached: something that never happens\n"; !strings.Contains(stdout.String(), want) {
		t.Errorf("%s\nlacks %q", &stdout, want)
	}
	content, err := os.ReadFile(filepath.Join(directory, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r checkReport
	if err := json.Unmarshal(content, &r); err != nil ||
		!reflect.DeepEqual(r.NeverReached, []string{"something that never happens"}) ||
		len(r.Sometimes) != 2 || r.Sometimes[0].Schedules == 0 {
		t.Errorf("%v: conditions %+v, never reached %q", err, r.Sometimes, r.NeverReached)
	}
}

func TestStatusError(t *testing.T) {
	for err, want := range map[error]string{
		exit.With(exit.Violation, nil):                    "a property is violated",
		exit.With(exit.Internal, errors.New("full disk")): "full disk",
	} {
		if err.Error() != want {
			t.Errorf("%q, not %q", err, want)
		}
	}
}

// A bound by schedules or by time replaces the default of the other one. A bound by states replaces
// neither, because a search may never reach it.
func TestBounds(t *testing.T) {
	for _, tc := range []struct {
		strategy, given   string
		schedules, budget bool // whether it is bounded so
	}{
		{"portfolio", "", true, true},
		{"portfolio", "schedules", true, false},
		{"portfolio", "budget", false, true},
		{"portfolio", "schedules budget", true, true},
		{"portfolio", "states", true, true},
		{"portfolio", "states budget", false, true},
		{"exhaustive", "", false, false},
		{"exhaustive", "states", false, false},
		{"exhaustive", "budget", false, true},
	} {
		f := checkFlags{
			lock: "textbook", client: "model", strategy: tc.strategy, faults: "none", seed: "1",
			clients: 1,
			cycles:  1, servers: 1, threads: 1,
			schedules: defaultSchedules, budget: defaultBudget, workers: 1,
			severity: faults.DefaultSeverity(), reportFlags: reportFlags{out: "failures"},
		}
		if strings.Contains(tc.given, "states") {
			f.states = 1000
		}
		c, err := f.campaign(func(flag string) bool {
			return slices.Contains(strings.Fields(tc.given),
				flag)
		})
		if err != nil {
			t.Fatal(err)
		}
		if c.Schedules > 0 != tc.schedules || c.Budget > 0 != tc.budget || c.States != f.states {
			t.Errorf("%s, given %q: %d schedules, %v, %d states", tc.strategy, tc.given,
				c.Schedules,
				c.Budget, c.States)
		}
	}
}

// The help of a flag has at most ten words, apart from its default, and no help has long lines.
func TestHelpIsShort(t *testing.T) {
	flag := regexp.MustCompile(`(?m)^ +(?:-\w, )?--([\w-]+)(?: \S+)?  +(.*?)(?: \(default .*\))?$`)
	root := newRoot(t)
	for _, command := range append(root.Commands(), root) {
		for line := range strings.Lines(command.Long) {
			if columns := len(strings.TrimSpace(line)); columns > 82 {
				t.Errorf("%s: a line of %d columns: %s", command.Name(), columns, line)
			}
		}
		for _, match := range flag.FindAllStringSubmatch(command.Flags().FlagUsages(), -1) {
			if words := len(strings.Fields(match[2])); words > 10 {
				t.Errorf("%s --%s: %d words", command.Name(), match[1], words)
			}
		}
	}
}
