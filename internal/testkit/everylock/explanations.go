package everylock

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/internal/base/file"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// NoRecording is the complaint that the lock with the name has no recording in testdata.
const NoRecording = "%[1]s has no recording: interlock check --lock %[1]s, copy its " +
	"schedule.json to testdata/%[1]s.json beside this test, then go test -run TestGolden -update"

// Recordings returns the names of the recorded counterexamples in testdata, one for each broken
// lock.
func Recordings(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("recordings %v, error %v", paths, err)
	}
	for i, path := range paths {
		paths[i] = strings.TrimSuffix(filepath.Base(path), ".json")
	}
	return paths
}

// replay runs a recorded counterexample and explains it with its facts.
func replay(t *testing.T, name string, all []scenarios.Subject) *explain.Report {
	t.Helper()
	recorded, err := recording.Read(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	scenario, err := recorded.Scenario(locktest.Find(t, recorded.Lock, all))
	if err != nil {
		t.Fatal(err)
	}
	if scenario.Client == scenarios.Real && real.RaceDetector {
		t.Skip("the real client is not deterministic under the race detector")
	}
	runner := engine.NewRunner(t)
	runner.GatherFacts(true)
	result := runner.Run(scenario, &engine.Replay{Deviations: recorded.Deviations})
	result.Lead(scenario, recorded.Signature)
	if len(result.Violations) == 0 || result.Violations[0].Signature() != recorded.Signature {
		t.Fatalf("violations %v, want %s", result.Violations, recorded.Signature)
	}
	if got := engine.TraceHash(result.TraceHash); got != recorded.TraceHash {
		t.Errorf("trace hash %v with facts, recorded %v", got, recorded.TraceHash)
	}
	events := slices.Clone(result.Events)
	for i := range events {
		if f := events[i].Facts; f != nil {
			facts := *f
			facts.Line = lineNumber.ReplaceAllStringFunc(f.Line, hidden)
			facts.Waits = slices.Clone(f.Waits)
			for n := range facts.Waits {
				wait := &facts.Waits[n]
				wait.Line = lineNumber.ReplaceAllStringFunc(wait.Line, hidden)
			}
			events[i].Facts = &facts
		}
	}
	violations := make([]*history.Violation, len(result.Violations))
	for i, v := range result.Violations {
		one := *v
		one.Detail = sourceLine.ReplaceAllString(v.Detail, ".go:N")
		one.Evidence.Message = sourceLine.ReplaceAllString(v.Evidence.Message, ".go:N")
		one.Evidence.Calls = slices.Clone(v.Evidence.Calls)
		for n, call := range one.Evidence.Calls {
			one.Evidence.Calls[n] = sourceLine.ReplaceAllString(call, ".go:N")
		}
		violations[i] = &one
	}
	return explain.NewReport("", result.Explain(scenario).Timeline.Of, events, violations)
}

// sourceLine matches the end of a file and the number of a line.
var sourceLine = regexp.MustCompile(`\.go:[0-9]+`)

// lineNumber matches the number of a line, which golden files leave out.
var lineNumber = regexp.MustCompile(`[0-9]+$`)

func hidden(number string) string { return strings.Repeat("N", len(number)) }

// Golden tests the explanation and the decisive part of the timeline of each recorded
// counterexample against golden files, or rewrites them. The lock is one of the given ones.
func Golden(t *testing.T, all []scenarios.Subject, update bool) {
	t.Helper()
	for _, name := range Recordings(t) {
		t.Run(name, func(t *testing.T) {
			report := replay(t, name, all)
			for _, width := range []int{80, 120} {
				var text bytes.Buffer
				report.Explanation.Write(&text, width) // A buffer takes everything.
				text.WriteByte('\n')
				report.Timeline.Width = width
				if err := report.Timeline.Decisive(&text); err != nil {
					t.Fatal(err)
				}
				golden(t, fmt.Sprintf("%s.%d.txt", name, width), text.Bytes(), update)
			}
		})
	}
}

// WithoutDetail tests that the explanation of each recorded counterexample depends on what checkers
// know of the violation, and not on the words of its detail.
func WithoutDetail(t *testing.T, all []scenarios.Subject) {
	t.Helper()
	for _, name := range Recordings(t) {
		t.Run(name, func(t *testing.T) {
			want := replay(t, name, all)
			shown := &want.Timeline
			for _, v := range shown.Violations {
				v.Detail = ""
			}
			for i, got := range explain.NewReport("", shown.Of, shown.Events,
				shown.Violations).Whys {
				if got.Text != want.Whys[i].Text {
					t.Errorf("%s without its detail: %q, with it %q", got.Violation.Property,
						got.Text, want.Whys[i].Text)
				}
				if !slices.Equal(got.Events, want.Whys[i].Events) {
					t.Errorf("%s: events %v without its detail, %v with it",
						got.Violation.Property, got.Events, want.Whys[i].Events)
				}
			}
		})
	}
}

// golden compares a text with a golden file, or rewrites that.
func golden(t *testing.T, name string, got []byte, update bool) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if update {
		if err := file.WriteContent(path, got); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; run go test -update, and read it\ngot:\n%s", name, got)
	}
}
