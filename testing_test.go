package interlock_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// A recordingT records the result and the log of a test that is expected to fail.
type recordingT struct {
	*testing.T
	failed bool
	log    strings.Builder
}

func (w *recordingT) Log(args ...any)                 { fmt.Fprintln(&w.log, args...) }
func (w *recordingT) Logf(format string, args ...any) { fmt.Fprintf(&w.log, format+"\n", args...) }
func (w *recordingT) Error(args ...any)               { w.Log(args...); w.Fail() }
func (w *recordingT) Errorf(f string, args ...any)    { w.Logf(f, args...); w.Fail() }
func (w *recordingT) Fatal(args ...any)               { w.Log(args...); w.FailNow() }
func (w *recordingT) Fatalf(f string, args ...any)    { w.Logf(f, args...); w.FailNow() }
func (w *recordingT) Fail()                           { w.failed = true }
func (w *recordingT) FailNow()                        { w.failed = true; runtime.Goexit() }
func (w *recordingT) Failed() bool                    { return w.failed }

// runRapid checks a scenario with rapid and returns the recorded test.
func runRapid(t *testing.T, scenario scenarios.Scenario) *recordingT {
	w := &recordingT{T: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		rapid.Check(w, interlock.Property(t, scenario))
	}()
	<-done
	return w
}

// A property of rapid fails if schedules differ when they run twice.
func TestRapidDiffers(t *testing.T) {
	t.Chdir(t.TempDir()) // Rapid writes a fail file.
	s := scenario(locktest.RandomSelect(true), 2, 20, 0)
	s.Subject.Claims = []history.Property{history.Progress}
	w := runRapid(t, *s)
	want := "that says too little: nondeterministic: schedule "
	if !w.failed || !strings.Contains(w.log.String(), want) {
		t.Errorf("failed %v, want %q in\n%s", w.failed, want, w.log.String())
	}
}

// rapid shrinks the failing schedule of a broken lock and writes a file that reproduces the
// failure.
func TestRapidFailFile(t *testing.T) {
	t.Chdir(t.TempDir())
	broken := scenarios.Scenario{
		Subject: subjects.ExistsThenWait(), Clients: 2, Cycles: 1,
		Faults: faults.Plan{},
	}
	first := runRapid(t, broken)
	if !first.failed || !strings.Contains(first.log.String(),
		"progress: a process waits for the lock for ever") {
		t.Fatalf("rapid did not find the defect:\n%s", first.log.String())
	}
	if !sourceLines.MatchString(first.log.String()) {
		t.Errorf("no line of the lock's calls in\n%s", first.log.String())
	}
	path := regexp.MustCompile(`-rapid\.failfile="([^"]+)"`).FindStringSubmatch(first.log.String())
	if path == nil {
		t.Fatalf("rapid names no fail file:\n%s", first.log.String())
	}
	// The draws are the steps by name, and the output shows those of one run.
	step := regexp.MustCompile(
		`\[rapid\] draw step: (serve|deliver|enter|leave) c[12]|\[rapid\] draw step: tick`)
	draws := step.FindAllString(first.log.String(), -1)
	if len(draws) < 10 || len(draws) > 100 {
		t.Errorf("rapid shows %d steps, want those of one short schedule:\n%s", len(draws),
			first.log.String())
	}
	absolute, err := filepath.Abs(path[1])
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir()) // where rapid finds no fail file by itself
	if err := flag.Set("rapid.failfile", absolute); err != nil {
		t.Fatal(err)
	}
	defer flag.Set("rapid.failfile", "")
	if second := runRapid(t, broken); !second.failed ||
		!strings.Contains(second.log.String(), "failed after 0 tests") {
		t.Errorf("the fail file does not reproduce the failure:\n%s", second.log.String())
	}
}
