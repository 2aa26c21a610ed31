package explain_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/history/timeline"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/scenarios/subjects/redislocks"
	"github.com/interlock-sim/interlock/scenarios/subjects/sqllocks"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// recordings returns the names of the recorded counterexamples, one for each broken lock.
func recordings(t *testing.T) []string {
	paths, err := filepath.Glob("testdata/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("recordings %v, error %v", paths, err)
	}
	for i, path := range paths {
		paths[i] = strings.TrimSuffix(filepath.Base(path), ".json")
	}
	return paths
}

// replay runs a recorded counterexample and gathers its facts.
func replay(t *testing.T, name string) ([]history.Event, []*history.Violation) {
	recording, err := recording.Read(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	subject, err := subjects.Named(recording.Lock)
	if err != nil {
		t.Fatal(err)
	}
	scenario, err := recording.Scenario(subject)
	if err != nil {
		t.Fatal(err)
	}
	if scenario.Client == scenarios.Real && real.RaceDetector {
		t.Skip("the real client is not deterministic under the race detector")
	}
	runner := engine.NewRunner(t)
	runner.GatherFacts(true)
	result := runner.Run(scenario, &engine.Replay{Deviations: recording.Deviations})
	result.Lead(scenario, recording.Signature)
	if len(result.Violations) == 0 || result.Violations[0].Signature() != recording.Signature {
		t.Fatalf("violations %v, want %s", result.Violations, recording.Signature)
	}
	if got := engine.TraceHash(result.TraceHash); got != recording.TraceHash {
		t.Errorf("trace hash %v with facts, recorded %v", got, recording.TraceHash)
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
	return events, violations
}

// sourceLine matches the end of a file and the number of a line.
var sourceLine = regexp.MustCompile(`\.go:[0-9]+`)

// lineNumber matches the number of a line, which golden files leave out.
var lineNumber = regexp.MustCompile(`[0-9]+$`)

func hidden(number string) string { return strings.Repeat("N", len(number)) }

// Every known defect has a golden explanation.
func TestEveryDefectHasARecording(t *testing.T) {
	names := recordings(t)
	for _, d := range subjects.Museum() {
		if !slices.Contains(names, d.Name) {
			t.Errorf("%s has no recording: interlock check --lock %s, and copy its schedule.json",
				d.Name, d.Name)
		}
	}
	for _, s := range slices.Concat(redislocks.All(), sqllocks.All()) {
		switch s.Name {
		case "redlock-5": // as redlock, but slower
		case "unique-index-fenced": // It breaks nothing that it claims.
		default:
			if !slices.Contains(names, s.Name) {
				t.Errorf("%s has no recording", s.Name)
			}
		}
	}
}

func TestGolden(t *testing.T) {
	for _, name := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			events, violations := replay(t, name)
			x := explain.Of(events, violations)
			for _, width := range []int{80, 120} {
				var text bytes.Buffer
				x.Write(&text, width) // A buffer takes everything.
				text.WriteByte('\n')
				lines := timeline.Timeline{
					Events: events, Violations: violations, Show: x.Show, Width: width,
				}
				if err := lines.Decisive(&text); err != nil {
					t.Fatal(err)
				}
				golden(t, fmt.Sprintf("%s.%d.txt", name, width), text.Bytes())
			}
		})
	}
}

// Explanations depend on what checkers know of a violation, and not on the words of its detail.
func TestWithoutDetail(t *testing.T) {
	for _, name := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			events, violations := replay(t, name)
			want := explain.Of(events, violations)
			for _, v := range violations {
				v.Detail = ""
			}
			for i, got := range explain.Of(events, violations).Whys {
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

// golden compares a text with a golden file.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
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

// A stuck process is explained by where its goroutines are blocked, if the history says so.
func TestBlockedGoroutines(t *testing.T) {
	waits := []history.Wait{
		{
			Process: 1, On: "select", Line: "billing/lock.go:42", Function: "billing.(*Lock).wait",
			Since: 1500 * time.Millisecond,
		},
		{Process: 2, On: "chan receive", Line: "billing/lock.go:7", Function: "billing.watch"},
		{
			Process: 1, On: "sleep", Line: "billing/lock.go:50", Function: "billing.renew",
			Since: 1500 * time.Millisecond,
		},
	}
	for _, tc := range []struct {
		waits int
		want  string
	}{
		{0, ""},
		{2, " A goroutine of c1 has been blocked since 1.500s in billing.(*Lock).wait (select) at " +
			"billing/lock.go:42."},
		{3, " At the end, 2 goroutines of c1 are blocked: in billing.(*Lock).wait (select) at " +
			"billing/lock.go:42 and billing.renew (sleep) at billing/lock.go:50. The last event of " +
			"c1 was at 1.500s."},
	} {
		events := []history.Event{
			{Kind: history.LockCall, Process: 1, Attempt: 1},
			{At: time.Hour, Kind: history.Tick, Facts: &history.Facts{Waits: waits[:tc.waits]}},
		}
		x := explain.Of(events, []*history.Violation{{Property: history.Progress}})
		want := "c1 called Lock (event 0), and was still waiting when the history ended. Nothing " +
			"has reached it since." + tc.want
		if got := x.Whys[0].Text; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Every property has a generator, also those of the engine and of the ensemble.
func TestEveryPropertyHasAGenerator(t *testing.T) {
	known := append(check.Claimable(), history.ZooKeeperConsistency)
	generated := explain.Generated()
	for _, p := range slices.Concat(known, check.Properties()) {
		if !slices.Contains(generated, p) {
			t.Errorf("%s has no generator; see docs/contributing.md", p)
		}
	}
	for _, p := range generated {
		if !slices.Contains(known, p) {
			t.Errorf("there is a generator of the unknown property %s", p)
		}
	}
}

// Below its name, each property has one line of at most 80 columns that says what it demands.
func TestDemands(t *testing.T) {
	events := []history.Event{{Kind: history.LockCall, Process: 1}}
	for _, p := range slices.Concat(check.Claimable(), check.Properties()) {
		x := explain.Of(events, []*history.Violation{{Property: p, Reason: "it is broken"}})
		second := func(width int) string {
			var text bytes.Buffer
			x.Write(&text, width) // A buffer takes everything.
			return strings.Split(text.String(), "\n")[1]
		}
		if got := second(80); !strings.HasPrefix(got, "  demands: ") || got != second(200) {
			t.Errorf("%s: got %q, want one line, %q", p, got, second(200))
		}
	}
}

// A property without a generator, and a violation of an event that is not there, are explained by
// their reason.
func TestWithoutGenerator(t *testing.T) {
	events := []history.Event{{Kind: history.LockCall, Process: 1}}
	x := explain.Of(events, []*history.Violation{
		{Property: "unknown", Reason: "it is broken", Detail: "here\nand there"},
		{Property: history.Progress, Event: 7, Reason: "stuck", Detail: "c1"},
	})
	for i, want := range []string{"It is broken: here; and there.", "Stuck: c1."} {
		if got := x.Whys[i].Text; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A panic is explained by what had reached the process since its call: all of it if that is little,
// or the last of it.
func TestReceivedBeforePanic(t *testing.T) {
	call := history.Event{Kind: history.UnlockCall, Process: 1, Attempt: 1}
	exists := []history.Event{
		{Kind: history.Send, Process: 1, Request: 1, Op: "exists", Path: "/a"},
		{Kind: history.Reply, Process: 1, Request: 1, Op: "exists", Path: "/a", Zxid: 1},
	}
	answer := history.Event{Kind: history.Answer, Process: 1, Op: "GET lock", Name: "nil"}
	for _, tc := range []struct {
		since []history.Event
		want  string
	}{
		{nil, "No reply or event has reached c1 since it called Unlock (event 0)."},
		{exists, "After the call of Unlock (event 0) c1 read that /a existed (event 2)."},
		{slices.Repeat(exists, 5), "After the call of Unlock (event 0) c1 received 5 replies and " +
			"watch events; at last it read that /a existed (event 10)."},
		{[]history.Event{answer}, "After the call of Unlock (event 0), the last answer that reached " +
			"c1 was that to GET lock: nil (event 1)."},
	} {
		x := explain.Of(append([]history.Event{call}, tc.since...), []*history.Violation{{
			Property: "no-panic", Evidence: history.Evidence{Process: 1, Message: "oh"},
		}})
		if got, want := x.Whys[0].Text, "c1 panicked: oh. "+tc.want; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A failed request explains an Open that failed only if the error of the Open contains its error:
// code can go on after a request that failed.
func TestOpenFailedForAnotherReason(t *testing.T) {
	for _, tc := range []struct{ err, want string }{
		{
			"create: zk: connection closed", "c1's Open failed (event 5) because of one failed " +
				"request, create /a (event 3), instead of trying again. ",
		},
		{"no quorum of nodes", "c1's Open failed (event 5). "},
	} {
		x := explain.Of([]history.Event{
			{Kind: history.Fault, Process: 1, Name: "cut"},
			{Kind: history.Send, Process: 1, Request: 1, Op: "create", Path: "/a"},
			{Kind: history.Serve, Process: 1, Request: 1, Op: "create", Path: "/a"},
			{
				Kind: history.Reply, Process: 1, Request: 1, Op: "create", Path: "/a",
				Err: "zk: connection closed",
			},
			{Kind: history.LockCall, Process: 1},
			{Kind: history.LockReturn, Process: 1, Err: history.OpenFails + tc.err},
		}, []*history.Violation{{Property: history.NoSpuriousFailure, Event: 5}})
		if got := x.Whys[0].Text; !strings.HasPrefix(got, tc.want) {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}
