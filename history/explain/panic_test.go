package explain_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/internal/testkit/eventtest"
)

// If a goroutine of the lock ends the program, the explanation tells what the last step brings it,
// and shows the request. A description tells the panic once.
func TestDeliveredBeforeTheEndOfTheProgram(t *testing.T) {
	call := eventtest.LockCall(2, 1)
	for _, tc := range []struct {
		events []history.Event // after the call; the last one sends the message
		want   string
	}{
		{[]history.Event{
			{Kind: history.KeyDeleted, Process: 1, Path: "lock", Zxid: 1},
			{Kind: history.Command, Process: 2, Op: "EXPIRE lock 9"},
			{Kind: history.Executed, Process: 2, Op: "EXPIRE lock 9", Name: "0"},
		}, `the result 0 of "EXPIRE lock 9" (event 3), after the key "lock" was deleted by c1 ` +
			"(event 1)."},
		{[]history.Event{
			{Kind: history.Send, Process: 2, Request: 1, Op: "get", Path: "/a"},
			{Kind: history.Serve, Process: 2, Request: 1, Op: "get", Path: "/a"},
		}, "the reply to get /a (event 2)."},
		{[]history.Event{
			eventtest.Armed(2, 1, "/a", "data"), eventtest.Fired(2, 1, "/a", 1),
		}, "the event of its watch on /a (event 2)."},
	} {
		events := append([]history.Event{call}, tc.events...)
		sent := len(events) - 2
		report := explain.NewReport("", "lock", events, []*history.Violation{{
			Property: "no-panic", Event: sent, Reason: "a goroutine panicked", Detail: "oh in step 7",
			Evidence: history.Evidence{Process: 2, Message: "oh", Events: []int{len(events) - 1}},
		}})
		want := "The last step delivers to c2 " + tc.want
		if got := report.Whys[0].Text; !strings.HasPrefix(got, "A goroutine panicked: oh in step 7. ") ||
			!strings.HasSuffix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if !slices.Contains(report.Show, sent) {
			t.Errorf("shown are %v, want the request %d", report.Show, sent)
		}
		text := report.Describe()
		if strings.Count(text, "oh in step 7") != 1 || !strings.Contains(text, "no-panic: oh\n") {
			t.Errorf("the panic is not told once:\n%s", text)
		}
	}
}
