package explain_test

import (
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/internal/testkit/eventtest"
)

// If a process waits for ever by a watch, the explanation begins with the cause that the history
// shows: a child that was left behind, or the end of the session.
func TestCauseOfSilence(t *testing.T) {
	call, created := eventtest.LockCall, eventtest.Created
	failed := eventtest.LockFailed(1, 1)
	failed.Err = "canceled"
	expired := eventtest.Expired(1)
	expired.Zxid = 2
	watch := []history.Event{
		{Kind: history.Send, Process: 1, Request: 1, Op: "children+watch", Path: "/l"},
		{Kind: history.Serve, Process: 1, Request: 1, Op: "children+watch", Path: "/l"},
		{
			Kind: history.WatchArmed, Process: 1, Request: 1, Watch: 1, Path: "/l", Name: "child",
		},
		{Kind: history.Reply, Process: 1, Request: 1, Op: "children+watch", Path: "/l"},
	}
	for _, tc := range []struct {
		name   string
		event  int
		events []history.Event
		want   string
	}{
		{
			"a node left behind", 3,
			[]history.Event{call(1, 1), created(1, "/l/a", 1), failed, call(1, 2)},
			"c1's Lock failed (event 2: canceled) and left a (event 1) behind: c1 never sent a " +
				"request to delete it, and c1 waits for ever to hear that the children of /l change.",
		},
		{
			"an expired session", 0,
			[]history.Event{call(1, 1), created(1, "/l/a", 1), expired, eventtest.Deleted(1, "/l/a", 2)},
			"c1's a was deleted when c1's session expired (event 3), but its Lock (event 0) went " +
				"on without it, and c1 waits for ever to hear that the children of /l change.",
		},
		{
			"a node of a later attempt", 0,
			[]history.Event{
				call(1, 1), created(1, "/l/a", 1), expired, eventtest.Deleted(1, "/l/a", 2),
				created(1, "/l/b", 3),
			},
			"c1 waits for ever to hear that the children of /l change: no event",
		},
		{
			"nothing left behind", 1,
			[]history.Event{created(2, "/l/a", 1), call(1, 1)},
			"c1 waits for ever to hear that the children of /l change: no event",
		},
	} {
		events := append(tc.events, watch...)
		text := explain.Of(events, []*history.Violation{{
			Property: history.Progress, Event: tc.event,
		}}).Whys[0].Text
		if !strings.HasPrefix(text, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, text, tc.want)
		}
	}
}
