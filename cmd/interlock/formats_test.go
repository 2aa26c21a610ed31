package main

import (
	"bytes"
	"encoding/json"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/base/file"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// checkInFormats checks a lock and returns its three reports, read back.
func checkInFormats(t *testing.T, subject scenarios.Subject, clients, schedules int,
	keepGoing bool,
) (*checkReport, *junitSuite, *sarif.Run) {
	t.Helper()
	directory := t.TempDir()
	f := &checkFlags{reportFlags: reportFlags{
		out: filepath.Join(directory, "failures"), json: filepath.Join(directory, "report.json"),
		junit: filepath.Join(directory, "report.xml"),
		sarif: filepath.Join(directory, "report.sarif"),
	}}
	c := &campaign.Campaign{
		Scenario: scenarios.Scenario{
			Subject: subject, Clients: clients, Cycles: 1,
		},
		Seed: 1, Schedules: schedules, Workers: 1, KeepGoing: keepGoing,
	}
	var stdout, stderr bytes.Buffer
	runCheck(t.Context(), t, c, f, &stdout, &stderr) // The reports have its status.
	var r checkReport
	if err := json.Unmarshal(readFile(t, f.json), &r); err != nil {
		t.Fatal(err)
	}
	suites := readJUnit(t, readFile(t, f.junit))
	if len(suites) != 1 {
		t.Fatalf("%d suites", len(suites))
	}
	return &r, &suites[0], readSARIF(t, readFile(t, f.sarif))
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// readSARIF validates a SARIF log against the schema, and returns its only run. A key that the
// format does not have is an error.
func readSARIF(t *testing.T, content []byte) *sarif.Run {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(new(sarif.Report)); err != nil {
		t.Fatalf("%v in\n%s", err, content)
	}
	log, err := sarif.FromBytes(content)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Validate(); err != nil {
		t.Fatalf("%v in\n%s", err, content)
	}
	if log.Version != "2.1.0" || len(log.Runs) != 1 {
		t.Fatalf("version %s, %d runs", log.Version, len(log.Runs))
	}
	for _, result := range log.Runs[0].Results {
		if len(result.Locations) == 0 {
			t.Error("a result without a location")
		}
		for _, at := range result.Locations {
			checkLocation(t, log.Runs[0], at.PhysicalLocation)
		}
	}
	return log.Runs[0]
}

// checkLocation checks what the schema does not say of a location, sections 3.4 and 3.30 of the
// format: a URI reference to a file below a base that the run defines, or an absolute URI without a
// base; a line number from 1. The file exists and has the line.
func checkLocation(t *testing.T, run *sarif.Run, at *sarif.PhysicalLocation) {
	t.Helper()
	artifact := at.ArtifactLocation
	uri, err := url.Parse(*artifact.URI)
	if err != nil {
		t.Fatal(err)
	}
	if artifact.URIBaseID == nil {
		if uri.Scheme != "file" || uri.Host != "" || !path.IsAbs(uri.Path) {
			t.Errorf("URI %s has no base and is not absolute", uri)
		}
		return
	}
	base := *artifact.URIBaseID
	if _, ok := run.OriginalUriBaseIds[base]; !ok || base != "%SRCROOT%" {
		t.Errorf("base %s, and the run defines %v", base, run.OriginalUriBaseIds)
	}
	if uri.IsAbs() || uri.Host != "" || uri.RawQuery != "" || path.IsAbs(uri.Path) ||
		path.Clean(uri.Path) != uri.Path || !filepath.IsLocal(uri.Path) {
		t.Errorf("URI %s is not that of a file below a base", uri)
	}
	content := readFile(t, filepath.Join(checkoutRoot("."), filepath.FromSlash(uri.Path)))
	if at.Region == nil {
		return
	}
	if line := *at.Region.StartLine; line < 1 || line > bytes.Count(content, []byte("\n")) {
		t.Errorf("%s has no line %d", uri, line)
	}
}

// A violation is at the line of the lock's code if the module has it, or else at its
// counterexample.
func TestLocations(t *testing.T) {
	root := t.TempDir()
	inside := filepath.Join(root, "failures", "a b")
	if err := os.MkdirAll(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "lock#1.go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "failure")
	for _, tc := range []struct {
		line, artifact, uri, base string
		number                    int
	}{
		{"lock#1.go:7", inside, "lock%231.go", sarifRoot, 7},
		{"lock#1.go", inside, "lock%231.go", sarifRoot, 0},
		{"example.com/m@v1.0.0/lock.go:7", inside, "failures/a%20b/timeline.txt", sarifRoot, 0},
		{"", inside, "failures/a%20b/timeline.txt", sarifRoot, 0},
		{"failures:7", inside, "failures/a%20b/timeline.txt", sarifRoot, 0},
		{"", outside, "file://" + filepath.ToSlash(outside) + "/timeline.txt", "", 0},
	} {
		at := sarifLocation(root, tc.line, "f", tc.artifact)
		if at == nil {
			t.Fatalf("no location of %q", tc.line)
		}
		number, base := 0, ""
		if at.PhysicalLocation.Region != nil {
			number = *at.PhysicalLocation.Region.StartLine
		}
		artifact := at.PhysicalLocation.ArtifactLocation
		if artifact.URIBaseID != nil {
			base = *artifact.URIBaseID
		}
		if *artifact.URI != tc.uri || base != tc.base || number != tc.number ||
			len(at.LogicalLocations) != 1 || *at.LogicalLocations[0].FullyQualifiedName != "f" {
			t.Errorf("%q in %s: %+v", tc.line, tc.artifact, at)
		}
	}
	if at := sarifLocation(root, "lock.go:7", "", ""); at != nil {
		t.Errorf("without a file: %+v", at)
	}
}

// caseNamed returns the test case of a suite with a name.
func caseNamed(t *testing.T, s *junitSuite, name string) *junitCase {
	t.Helper()
	for i := range s.Cases {
		if s.Cases[i].Name == name {
			return &s.Cases[i]
		}
	}
	t.Fatalf("no test case %s", name)
	return nil
}

// The JUnit and SARIF reports have the violations of the JSON report, with the replay command.
func TestFormatsOfFailures(t *testing.T) {
	t.Chdir(filepath.Join("..", "..")) // Files are named relative to the root of the repository.
	for _, keepGoing := range []bool{false, true} {
		r, suite, run := checkInFormats(t, subjects.ExistsThenWait(), 2, 200, keepGoing)
		if len(r.Violations) == 0 || len(run.Results) != len(r.Violations) {
			t.Fatalf("%d violations, %d results", len(r.Violations), len(run.Results))
		}
		test := caseNamed(t, suite, "progress")
		if suite.Failures != 1 || suite.Errors != 0 || len(test.Failures) != 1 ||
			suite.Tests != len(check.Claimable())+1 || suite.Tests != len(suite.Cases) {
			t.Fatalf("suite %+v", suite)
		}
		for i, v := range r.Violations {
			result := run.Results[i]
			for _, text := range []string{test.Failures[0].Text, *result.Message.Text} {
				for _, want := range []string{v.Signature, "was still waiting", v.Replay} {
					if !strings.Contains(text, want) {
						t.Errorf("no %q in %q", want, text)
					}
				}
			}
			rule := run.Tool.Driver.Rules[result.RuleIndex]
			if *result.RuleID != string(v.Property) || *rule.ID != string(v.Property) ||
				result.PartialFingerprints[sarifFingerprint] != v.Signature ||
				result.Level != "error" {
				t.Errorf("result %+v of rule %s", result, *rule.ID)
			}
			at := result.Locations[0]
			if uri := *at.PhysicalLocation.ArtifactLocation.URI; uri !=
				"scenarios/subjects/recipe.go" ||
				*at.PhysicalLocation.Region.StartLine == 0 ||
				!strings.HasPrefix(*at.LogicalLocations[0].FullyQualifiedName, "subjects.") {
				t.Errorf("location %s", uri)
			}
		}
		if *run.Invocations[0].ExitCode != exit.Violation {
			t.Errorf("exit code %d", *run.Invocations[0].ExitCode)
		}
		if fifo := caseNamed(t, suite, "fifo"); fifo.Failures != nil || fifo.Skipped != nil {
			t.Errorf("fifo %+v", fifo)
		}
		if unclaimed := caseNamed(t, suite, "fencing"); unclaimed.Skipped == nil ||
			unclaimed.Skipped.Message != string(report.NotClaimed) {
			t.Errorf("fencing %+v", unclaimed)
		}
	}
}

// A campaign that fails without a violation fails the test case of the search.
func TestFormatsWithoutViolation(t *testing.T) {
	_, suite, run := checkInFormats(t, subjects.Textbook(), 2, 50, false)
	if suite.Failures+suite.Errors != 0 || len(run.Results) != 0 || run.Results == nil ||
		*run.Invocations[0].ExitCode != exit.OK {
		t.Errorf("suite %+v, results %v", suite, run.Results)
	}
	never := subjects.Textbook()
	never.Sometimes = []history.Sometimes{check.Contention, {
		Name:    "something that never happens",
		Clients: 1, Reached: func([]history.Event) bool { return false },
	}}
	_, suite, run = checkInFormats(t, never, 1, 5000, false)
	search := caseNamed(t, suite, searchCase)
	if suite.Failures != 1 || len(search.Failures) != 1 ||
		!strings.Contains(search.Failures[0].Message, "something that never happens") {
		t.Errorf("search %+v", search)
	}
	if notes := run.Invocations[0].ToolExecutionNotifications; len(notes) != 1 ||
		!strings.Contains(*notes[0].Message.Text, "something that never happens") {
		t.Errorf("notifications %+v", notes)
	}
	_, suite, run = checkInFormats(t, subjects.Textbook(), 100, 1, false)
	if suite.Failures != 0 || *run.Invocations[0].ExitCode != exit.OK {
		t.Errorf("suite %+v", suite)
	}
}

// The reports of check and replay have the stored names and values of two scenarios: one without
// optional values, the other with all.
func TestReportsOfScenarios(t *testing.T) {
	least := scenarios.Scenario{Subject: subjects.Mutex(), Clients: 2, Cycles: 1}
	most := least
	most.Clients, most.Cycles, most.Threads, most.Servers = 3, 2, 2, 3
	most.Client, most.Faults = scenarios.Real, faults.MustParse("cut@hold=1,pause=2")
	most.Severity = faults.Severity{Pause: time.Second, Drift: 9}
	reports := make(map[string]any)
	for name, s := range map[string]scenarios.Scenario{"least": least, "most": most} {
		c := &campaign.Campaign{Scenario: s, Strategy: "random", Seed: 7}
		if name == "most" {
			c.Configurations = []campaign.Configuration{
				{Scenario: s, Weight: 1}, {Scenario: least, Weight: 2},
			}
		}
		found := &report.Campaign{Configurations: make([]report.ConfigurationStats, 2)}
		checked := (&result{Campaign: c, Report: found}).json()
		checked.CampaignReport, checked.Coverage, checked.Properties = nil, nil, nil
		replayed := &replayer{
			path: "schedule.json", recording: &recording.Recording{Lock: "mutex"}, scenario: &s,
		}
		reports[name] = map[string]any{"check": checked, "replay": replayed.report(nil)}
	}
	var text bytes.Buffer
	if err := file.EncodeJSON(&text, reports); err != nil {
		t.Fatal(err)
	}
	if want := readFile(t, "testdata/reports.json"); !bytes.Equal(text.Bytes(), want) {
		t.Errorf("the reports are\n%s\nwant\n%s", &text, want)
	}
}
