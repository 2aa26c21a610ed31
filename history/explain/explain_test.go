package explain_test

import (
	"bytes"
	"flag"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/history/timeline"
	"github.com/interlock-sim/interlock/internal/testkit/everylock"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Every known defect has a golden explanation.
func TestEveryDefectHasARecording(t *testing.T) {
	names := everylock.Recordings(t)
	for _, d := range subjects.Museum() {
		if !slices.Contains(names, d.Name) {
			t.Errorf(everylock.NoRecording, d.Name)
		}
	}
}

func TestGolden(t *testing.T) { everylock.Golden(t, subjects.All(), *update) }

// Explanations depend on what checkers know of a violation, and not on the words of its detail.
func TestWithoutDetail(t *testing.T) { everylock.WithoutDetail(t, subjects.All()) }

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
	get := func(kind history.Kind) history.Event {
		return history.Event{Kind: kind, Process: 1, Op: "GET lock", Name: "nil"}
	}
	deleted := history.Event{Kind: history.KeyDeleted, Process: 2, Path: "lock", Zxid: 1}
	for _, tc := range []struct {
		since []history.Event
		want  string
	}{
		{nil, "No reply or event has reached c1 since it called Unlock (event 0)."},
		{exists, "After the call of Unlock (event 0) c1 read that /a existed (event 2)."},
		{slices.Repeat(exists, 5), "After the call of Unlock (event 0) c1 received 5 replies and " +
			"watch events; at last it read that /a existed (event 10)."},
		{[]history.Event{get(history.Answer)}, "After the call of Unlock (event 0), the last result " +
			"that reached c1 was nil, of \"GET lock\" (event 1)."},
		{[]history.Event{deleted, get(history.Executed), get(history.Answer)}, "After the call of " +
			"Unlock (event 0), the last result that reached c1 was nil, of \"GET lock\" " +
			"(event 3), after the key \"lock\" was deleted by c2 (event 1)."},
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

// What a property demands reads well for each primitive.
func TestDemandsOfPrimitives(t *testing.T) {
	wrong := regexp.MustCompile(`is without|had ran|calls Unlock as|resigns as|lead allows|` +
		`took the (barrier|lead)|called the (barrier|lead)|two (calls Unlock|resigns)`)
	for _, text := range []string{
		"It was overtaken twice; the lock allows 1.", "c1 had asked for the lock.",
		"c1 took the lock.", "the first of its two unlocks", "c1 called the lock.",
	} {
		checkPrimitives(t, wrong, text)
	}
	for _, property := range slices.Concat(check.Claimable(), check.Properties()) {
		checkPrimitives(t, wrong, check.Statement(property))
	}
}

func checkPrimitives(t *testing.T, wrong *regexp.Regexp, text string) {
	t.Helper()
	for _, p := range []timeline.Primitive{
		timeline.Barrier, timeline.DoubleBarrier, timeline.Election,
	} {
		if got := p.In(text); wrong.MatchString(got) {
			t.Errorf("%s: %q becomes %q", p, text, got)
		}
	}
}
