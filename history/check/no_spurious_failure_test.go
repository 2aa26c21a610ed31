package check_test

import (
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

func TestNoRefusal(t *testing.T) {
	const refused = "Lock failed for a process that still wanted the lock"
	type events = []history.Event
	call := func(process, attempt int32) history.Event {
		return history.Event{Kind: history.LockCall, Process: process, Attempt: attempt}
	}
	fails := func(process, attempt int32) history.Event {
		return history.Event{
			Kind: history.LockReturn, Process: process, Attempt: attempt,
			Err: "no",
		}
	}
	cut := history.Event{Kind: history.Fault, Process: 1, Name: "cut"}
	granted := history.Event{Kind: history.LockReturn, Process: 1, Attempt: 1}
	judge(t, history.NoSpuriousFailure, check.NoSpuriousFailure, []verdict{
		{name: "nothing"},
		{name: "granted", events: events{call(1, 1), granted}},
		{name: "refused", reason: refused, event: 1, events: events{call(1, 1), fails(1, 1)}},
		{name: "refused after a cut", reason: refused, event: 2, events: events{
			call(1, 1), cut,
			fails(1, 1),
		}},
		{name: "given up", events: events{call(1, 1), cancelled(1), fails(1, 1)}},
		{name: "another gave up", reason: refused, event: 2, events: events{
			call(1, 1), cancelled(2),
			fails(1, 1),
		}},
		{name: "given up once", reason: refused, event: 4, events: events{
			call(1, 1), cancelled(1),
			fails(1, 1), call(1, 2), fails(1, 2),
		}},
		{name: "given up, and granted all the same", events: events{
			call(1, 1), cancelled(1),
			granted,
		}},
	})
}
