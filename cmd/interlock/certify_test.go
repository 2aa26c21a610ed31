package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/cmd/internal/judge/certify"
	"github.com/interlock-sim/interlock/history/check"
)

// certifyInFormats certifies a plan in the working directory, and returns the status and the
// reports, read back except SARIF.
func certifyInFormats(t *testing.T, plan string) (status int, c *certify.Certificate,
	suites []junitSuite, sarifLog []byte,
) {
	t.Helper()
	if err := os.WriteFile("interlock.yaml", []byte(plan), 0o644); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	status = execute(t.Context(), t, []string{
		"certify", "--json", "report.json", "--junit", "report.xml", "--sarif", "report.sarif",
	}, &stdout, &stderr)
	if err := json.Unmarshal(readFile(t, "report.json"), &c); err != nil {
		t.Fatalf("%v; status %d, %s", err, status, &stderr)
	}
	return status, c, readJUnit(t, readFile(t, "report.xml")), readFile(t, "report.sarif")
}

// checkSuite checks that the counts of a suite match its test cases, and that the names of these
// differ.
func checkSuite(t *testing.T, s *junitSuite) {
	t.Helper()
	var failures, skipped int
	names := make(map[string]bool)
	for i := range s.Cases {
		test := &s.Cases[i]
		names[test.Name] = true
		if len(test.Failures) > 0 {
			failures++
		}
		if test.Skipped != nil {
			skipped++
		}
		if test.Name == "" || !strings.HasPrefix(test.Class, "interlock.") ||
			len(test.Failures) > 0 && test.Skipped != nil {
			t.Errorf("test case %+v", test)
		}
	}
	if s.Name == "" || s.Tests != len(s.Cases) || s.Failures != failures || s.Skipped != skipped ||
		s.Errors != 0 || len(names) != len(s.Cases) {
		t.Errorf("suite %+v", s)
	}
}

// Each failure of a certificate fails a test case of JUnit and is a result of SARIF, located at the
// recording or else at the line of the plan that names the lock.
func TestCertificateFormats(t *testing.T) {
	t.Chdir(t.TempDir())
	status, c, suites, log := certifyInFormats(t, `# A lock without the defect, and one with it.
locks:
  - names: [textbook]
    sampled: [{faults: expire=1, schedules: 100}]
  - names: [exists-then-wait]
    sampled: [{clients: 2, cycles: 1, faults: none, schedules: 50}]
`)
	run := readSARIF(t, log)
	if status != exit.Violation || *run.Invocations[0].ExitCode != status || len(suites) != 2 ||
		len(run.Results) != len(c.Failures) || len(c.Failures) < 2 ||
		len(run.Tool.Driver.Rules) != len(check.Claimable())+len(certify.Checks) {
		t.Fatalf("status %d, %d suites, %d results, %d failures", status, len(suites),
			len(run.Results), len(c.Failures))
	}
	for i := range suites {
		checkSuite(t, &suites[i])
	}
	if suites[0].Failures != 0 || suites[1].Failures != len(c.Failures) {
		t.Errorf("%d and %d failures", suites[0].Failures, suites[1].Failures)
	}
	for i, f := range c.Failures {
		test := caseNamed(t, &suites[1], f.Check)
		result := run.Results[i]
		at := result.Locations[0].PhysicalLocation
		uri, line := "interlock-failures/"+f.Recording, 0
		if f.Recording == "" {
			uri, line = "interlock.yaml", 5
		}
		if f.Lock != "exists-then-wait" || test.Failures[0].Message != f.Reason ||
			*result.RuleID != f.Check || *result.Message.Text != f.Reason ||
			*run.Tool.Driver.Rules[result.RuleIndex].ID != f.Check ||
			*at.ArtifactLocation.URI != uri ||
			line > 0 && *at.Region.StartLine != line {
			t.Errorf("%+v: test case %+v, result %+v", f, test, result)
		}
	}
	if unclaimed := caseNamed(t, &suites[0], "fencing"); unclaimed.Skipped == nil {
		t.Errorf("fencing: %+v", unclaimed)
	}
}

// Each recording is a test case.
func TestCertificateRecordings(t *testing.T) {
	recordings, err := filepath.Glob(filepath.Join("..", "..", "docs", "report-card", "zk-herd-*"))
	if err != nil || len(recordings) < 2 {
		t.Fatalf("%v: %d recordings", err, len(recordings))
	}
	failing, passing := readFile(t, recordings[0]), readFile(t, recordings[1])
	t.Chdir(t.TempDir())
	for name, content := range map[string][]byte{"fail.json": failing, "pass.json": passing} {
		if err := os.WriteFile(name, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	status, c, suites, log := certifyInFormats(t, `
locks: [{names: [textbook], sampled: [{faults: expire=1, schedules: 100}]}]
must_fail: [fail.json]
must_pass: [pass.json]
`)
	if status != exit.Violation || len(c.Failures) != 1 || len(suites) != 2 {
		t.Fatalf("status %d, %d suites, failures %+v", status, len(suites), c.Failures)
	}
	readSARIF(t, log)
	checkSuite(t, &suites[1])
	if s := &suites[1]; s.Tests != 2 || s.Failures != 1 || s.Cases[0].Failures != nil ||
		!strings.HasPrefix(s.Cases[1].Name, certify.MustPass+" ") {
		t.Errorf("suite %+v", s)
	}
}
