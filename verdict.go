package interlock

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/run/supervise"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/scenarios"
)

// A verdict tells interlock test the outcome of a [Check].
type verdict struct {
	recording.Verdict
	path string // "" unless interlock test runs the program
}

// notJudged is the outcome of a Check that runs nothing, because the counterexample to replay is
// that of another lock. Its verdict is not written.
const notJudged = ""

// newVerdict returns a verdict for a test that ends before it has an outcome.
func newVerdict(t testing.TB, scenario *scenarios.Scenario) *verdict {
	v := newVerdictOf(t, scenario.Subject.Name)
	v.Scenario, v.Claims = scenario.String(), scenario.Subject.Claims
	return v
}

// newVerdictOf is newVerdict for a lock without a scenario.
func newVerdictOf(t testing.TB, lock string) *verdict {
	return &verdict{
		recording.Verdict{
			Package: testedPackage(), Test: t.Name(), Lock: lock, Outcome: recording.Unsound,
		},
		os.Getenv(recording.VerdictsVariable),
	}
}

// ran notes what a search has run.
func (v *verdict) ran(c *campaign.Campaign, found report.Report) {
	r := found.Common()
	v.Seed, v.Schedules, v.Steps = c.Seed, r.Schedules, r.Steps
	v.Claims, v.Unexercised = c.Scenario.Subject.Claims, unexercised(c, found)
	v.Coverage, v.NeverStruck = r.Coverage.ByName(c.FaultKinds()), c.NeverStruck(found)
	switch searched := found.(type) {
	case *report.Exhaustive:
		v.Complete = searched.Complete
	case *report.Campaign:
		v.Margins = searched.Totals.Margins.ByName()
		if cost := &searched.Totals.Cost; cost.Acquires > 0 {
			v.Requests = float64(cost.Requests) / float64(cost.Acquires)
		}
	}
}

// failed notes a failure.
func (v *verdict) failed(f recording.Failure) {
	v.Outcome = recording.Violation
	v.Failures = append(v.Failures, f)
}

// fatalf ends the test for a reason that is no violation.
func (v *verdict) fatalf(t testing.TB, format string, arguments ...any) {
	t.Helper()
	v.Reason = fmt.Sprintf(format, arguments...)
	t.Fatal(v.Reason)
}

// failureIn returns a failure that a recorded schedule shows. The command interlock test, which
// names a directory for counterexamples, gets an absolute path: it runs in another directory.
func failureIn(test, signature, path string) recording.Failure {
	if absolute, err := filepath.Abs(path); err == nil && os.Getenv(outVariable) != "" {
		path = absolute
	}
	replay := &recording.GoTest{Name: test, Directory: path, By: recording.Command()}
	return recording.Failure{
		Signature: signature, Counterexample: path, Replay: replay.Command(),
	}
}

// handOver gives the verdict of a child to its parent, which writes it.
func (v *verdict) handOver(job *supervise.Job) {
	var n childNote
	job.ReadOutput(&n) // There is none at first.
	n.Verdict = &v.Verdict
	job.WriteOutput(n) // Without it, the parent has the verdict of a test without an outcome.
}

// takeOver takes the verdict of a child.
func (v *verdict) takeOver(job *supervise.Job) {
	var n childNote
	if job.ReadOutput(&n) == nil && n.Verdict != nil {
		v.Verdict = *n.Verdict
	}
}

// write appends the verdict to the file of interlock test, if there is one.
func (v *verdict) write(t testing.TB) {
	t.Helper()
	if v.path == "" || v.Outcome == notJudged {
		return
	}
	line, err := json.Marshal(v.Verdict)
	if err == nil {
		err = appendTo(v.path, append(line, '\n'))
	}
	if err != nil {
		t.Error(err)
	}
}

// appendTo appends to a file, which other processes may do too.
func appendTo(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := file.Write(content); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

// unexercised returns the claims that a search has not exercised.
func unexercised(c *campaign.Campaign, found report.Report) (claims []string) {
	if _, all := found.(*report.Exhaustive); all {
		return nil
	}
	for _, p := range check.Properties() {
		// Where no call was open when progress was judged, all calls had returned before.
		if c.Scenario.Subject.Claimed(p) && p != history.Progress && found.Exercised(p) == 0 {
			claims = append(claims, string(p))
		}
	}
	return claims
}
