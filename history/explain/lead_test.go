package explain_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/internal/testkit/eventtest"
)

// Only a history that shows the requests of a process, as that of a service in production does not,
// shows that it has been granted the lock without one.
func TestGrantWithoutRequest(t *testing.T) {
	first := []history.Event{eventtest.LockCall(1, 1), eventtest.LockOK(1, 1, "")}
	second := []history.Event{eventtest.LockCall(2, 1), eventtest.LockOK(2, 1, "")}
	send := history.Event{Kind: history.Send, Process: 1, Request: 1, Op: "connect"}
	command := history.Event{Kind: history.Command, Process: 1, Op: "SET lock 1 nx"}
	for _, tc := range []struct {
		name   string
		events []history.Event
		want   bool
	}{
		{"no requests shown", slices.Concat(first, second), false},
		{"an earlier request", slices.Concat([]history.Event{send}, first, second), true},
		{"a command", slices.Concat(first[:1], []history.Event{command}, first[1:], second), false},
	} {
		text := explain.Of(tc.events, []*history.Violation{{
			Property: history.Linearizable, Event: len(tc.events) - 1,
		}}).Whys[0].Text
		if strings.Contains(text, "without a request") != tc.want {
			t.Errorf("%s: %q", tc.name, text)
		}
	}
}

// A lost update begins with the loss of the key, unless the lock has told its holder.
func TestLostUpdateByALostKey(t *testing.T) {
	key := func(kind history.Kind, p int32, number int64) history.Event {
		return history.Event{Kind: kind, Process: p, Path: "lock", Zxid: number}
	}
	events := []history.Event{
		eventtest.LockCall(1, 1), key(history.KeySet, 1, 1), eventtest.LockOK(1, 1, ""),
		key(history.KeyLost, 0, 1), eventtest.LockCall(2, 1), key(history.KeySet, 2, 2),
		eventtest.LockOK(2, 1, ""), eventtest.Read(1, 1, 0), eventtest.Read(2, 1, 0),
		eventtest.Wrote(2, 1, 1), eventtest.Wrote(1, 1, 2),
	}
	const lost = "it had lost the lock: its key \"lock\" was lost"
	for _, test := range []struct {
		at   int // of an event that is added to them
		with history.Event
		lead string // or "" for another
	}{
		{len(events), eventtest.LockCall(1, 2), "c1 did not notice that " + lost},
		{4, eventtest.Lost(1, 1), ""},
		{3, history.Event{Kind: history.Fault, Process: 1, Name: "pause"}, "The process of c1 was " +
			"paused (fault pause, event 3) and could not notice that " + lost},
		{
			0,
			history.Event{Kind: history.Fault, Process: 2, Name: "pause"},
			"c1 did not notice that " + lost,
		},
	} {
		told := slices.Insert(slices.Clone(events), test.at, test.with)
		last := len(told) - 1
		if test.at == len(events) {
			last--
		}
		text := explain.Of(told, []*history.Violation{{
			Property: history.NoLostUpdate, Event: last,
		}}).Whys[0].Text
		if test.lead != "" && !strings.HasPrefix(text, test.lead) ||
			test.lead == "" && strings.Contains(text, lost) {
			t.Errorf("with %v: %q", test.with, text)
		}
	}
}

// Renewals of a lock on several servers that none of them executed in time are told in one sentence.
func TestRenewalsUnderWay(t *testing.T) {
	at := func(kind history.Kind, p, server int32, op string) history.Event {
		return history.Event{
			Kind: kind, Process: p, Server: server, Path: "lock", Op: op, Zxid: int64(server),
		}
	}
	const late = "; the server had not executed it when the key expired."
	for name, test := range map[string]struct {
		ops  [2]string // of the renewals at the servers
		want []string
	}{
		"the same": {[2]string{"PEXPIRE lock 1", "PEXPIRE lock 1"}, []string{
			`c1 had sent "PEXPIRE lock 1" to s1 (event 4) and s2 (event 5), and none ` +
				"had executed it when the key there expired.",
		}},
		"different": {[2]string{"PEXPIRE lock 1", "PEXPIRE lock 2"}, []string{
			`c1 had sent "PEXPIRE lock 1" (event 4)` + late,
			`c1 had sent "PEXPIRE lock 2" (event 5)` + late,
		}},
		"one": {[2]string{"PEXPIRE lock 1", "GET other"}, []string{
			`c1 had sent "PEXPIRE lock 1" (event 4)` + late,
		}},
	} {
		events := []history.Event{
			eventtest.LockCall(1, 1), at(history.KeySet, 1, 1, ""), at(history.KeySet, 1, 2, ""),
			eventtest.LockOK(1, 1, ""), at(history.Command, 1, 1, test.ops[0]),
			at(history.Command, 1, 2, test.ops[1]), at(history.KeyExpired, 0, 1, ""),
			at(history.KeyExpired, 0, 2, ""), eventtest.LockCall(2, 1), eventtest.LockOK(2, 1, ""),
			eventtest.Read(1, 1, 0), eventtest.Read(2, 1, 0), eventtest.Wrote(2, 1, 1),
			eventtest.Wrote(1, 1, 2),
		}
		text := explain.Of(events, []*history.Violation{{
			Property: history.NoLostUpdate, Event: len(events) - 1,
		}}).Whys[0].Text
		for _, want := range test.want {
			if strings.Count(text, want) != 1 {
				t.Errorf("%s: %q", name, text)
			}
		}
		if n := strings.Count(text, "had sent"); n != len(test.want) {
			t.Errorf("%s: %d sentences: %q", name, n, text)
		}
	}
}
