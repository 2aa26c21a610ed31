package explain_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/internal/testkit/eventtest"
)

// The explanation of a call that never returns says whether the process still sends requests when
// the history ends, and which of them has no answer.
func TestSendsUntilTheEnd(t *testing.T) {
	const insert = "INSERT INTO locks VALUES (1)"
	call := eventtest.LockCall(1, 1)
	send := func(request int32) history.Event {
		return history.Event{
			Kind: history.Send, Process: 1, Request: request, Op: "delete", Path: "/a",
		}
	}
	reply := func(request int32) history.Event {
		e := send(request)
		e.Kind = history.Reply
		return e
	}
	at := func(kind history.Kind, p int32, op, result string) history.Event {
		return history.Event{Kind: kind, Process: p, Op: op, Name: result}
	}
	command, executed := at(history.Command, 1, insert, ""), at(history.Executed, 1, insert, "x")
	answer := at(history.Answer, 1, insert, "error")
	begin := at(history.Executed, 2, "BEGIN", "ok")
	commit := at(history.Executed, 2, "COMMIT", "ok")
	later := history.Event{Kind: history.Tick, At: time.Minute}
	polls := []history.Event{send(1), reply(1), send(2), reply(2), send(3), reply(3)}
	const called = "c1 called Lock (event 0), and was still waiting when the history ended."
	for _, tc := range []struct {
		name  string
		since []history.Event // the call
		want  string
	}{
		{
			"a livelock", append(slices.Clone(polls), send(4)),
			"c1 sends requests until the history ends, and its Lock never returns. " + called +
				" It still sends requests: 4 since the call, and the last one, delete /a (event 7), is " +
				"not answered when the history ends. Last it got the reply to delete /a (event 6).",
		},
		{
			"one request",
			[]history.Event{send(1)},
			"c1 sends requests until the history ends, and its Lock never returns. " + called +
				" It still sends requests: 1 since the call, and the last one, delete /a (event 1), is " +
				"not answered when the history ends.",
		},
		{
			"a poller that pauses", polls,
			"c1 sends requests until the history ends, and its Lock never returns. " + called +
				" It still sends requests: 3 since the call, and the last one, delete /a (event 5), is " +
				"answered when the history ends. Last it got the reply to delete /a (event 6).",
		},
		{
			"a poller that has stopped", append(slices.Clone(polls), later),
			"c1 waits for ever in Lock, without a request or a watch that could wake it. " + called +
				" Last it got the reply to delete /a (event 6). Since then it has sent no request, and " +
				"has no watch pending.",
		},
		{
			"a process that has stopped beside a livelock",
			append(slices.Clone(polls), slices.Repeat([]history.Event{commit}, 2000)...),
			"c1 waits for ever in Lock, without a request or a watch that could wake it. ",
		},
		{
			"a poller of a database",
			[]history.Event{command, executed, answer, command},
			called + ` It keeps trying. Its last ` + insert + " gave error (event 3). The next one " +
				"(event 4) is not answered when the history ends.",
		},
		{
			"no result at all",
			[]history.Event{command, command},
			"c1 sends requests until the history ends, and its Lock never returns. " + called +
				" It still sends requests: 2 since the call, and the last one, \"" + insert +
				"\" (event 2), is not answered when the history ends.",
		},
		{
			"a command that is given up",
			[]history.Event{command, executed, answer, later},
			"c1 waits for ever, and has no command under way. " + called + " Its last " + insert +
				" gave error (event 3). Since then it has sent nothing.",
		},
		{
			"another's transaction",
			[]history.Event{begin, command, executed, answer, begin, command, later},
			`c1 waits for ever for the result of "` + insert + `" (event 6), which the server has ` +
				"not executed: the transaction that c2 began (event 5) is still open. " + called,
		},
		{
			"no open transaction",
			[]history.Event{begin, commit, command, later},
			`c1 waits for ever for the result of "` + insert + `" (event 3), which the server has ` +
				"not executed. " + called,
		},
		{
			"a lost result",
			[]history.Event{command, executed, later},
			`c1 waits for ever for the result of "` + insert + `" (event 1), which the server ` +
				"executed at event 2. " + called,
		},
	} {
		text := explain.Of(append([]history.Event{call}, tc.since...), []*history.Violation{{
			Property: history.Progress, Evidence: history.Evidence{Process: 1},
		}}).Whys[0].Text
		if text != tc.want && !(strings.HasSuffix(tc.want, " ") && strings.HasPrefix(text, tc.want)) {
			t.Errorf("%s: got %q, want %q", tc.name, text, tc.want)
		}
	}
}

// A process that sends requests until the end is not called silent where others wait for it.
func TestWaitsForASender(t *testing.T) {
	exists := func(kind history.Kind) history.Event {
		return history.Event{Kind: kind, Process: 1, Request: 1, Op: "get+watch", Path: "/l/a"}
	}
	armed := eventtest.Armed(1, 1, "/l/a", "data")
	armed.Request = 1
	sends := history.Event{Kind: history.Send, Process: 2, Request: 1, Op: "get", Path: "/l"}
	text := explain.Of([]history.Event{
		eventtest.LockCall(2, 1), eventtest.Created(2, "/l/a", 1), eventtest.LockCall(1, 1),
		exists(history.Send), exists(history.Serve), armed, exists(history.Reply), sends,
	}, []*history.Violation{{Property: history.Progress, Event: 2}}).Whys[0].Text
	if want := "c2 waits as well. It still sends requests: 1 since the call, and the last one, get /l "; !strings.Contains(
		text, want) {
		t.Errorf("got %q, want %q", text, want)
	}
}
