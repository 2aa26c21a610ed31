package check_test

import (
	"slices"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

func TestQuiescence(t *testing.T) {
	const restless = "a process sends requests without end after its last unlock"
	type events = []history.Event
	fair := on(history.FairPhase, 0)
	sends := func(process int32, op string, at time.Duration) history.Event {
		return history.Event{Kind: history.Send, Process: process, Op: op, Path: "/l/a", At: at}
	}
	at := func(e history.Event, at time.Duration) history.Event {
		e.At = at
		return e
	}
	many := slices.Repeat(events{sends(1, "delete", 0)}, history.QuiescenceRequests)
	late := sends(1, "delete", history.QuiescenceAfter+1)
	used := events{lockCall(1, 1), lockOK(1, 1, ""), unlockCall(1, 1), unlockOK(1, 1), fair}
	after := func(more ...history.Event) events { return slices.Concat(used, more) }
	second := history.ThreadNumber(1, 2)
	judge(t, history.Quiescence, check.Quiescence, []verdict{
		{name: "nothing"},
		{name: "silence", events: after(on(history.Tick, 0))},
		{
			name: "a late request", reason: restless, event: 5,
			events: after(late),
		},
		{
			name: "a late command", reason: restless, event: 5,
			events: after(history.Event{
				Kind: history.Command, Process: 1, At: history.QuiescenceAfter + 1,
			}),
		},
		{name: "in time", events: after(sends(1, "delete", history.QuiescenceAfter))},
		{name: "as many requests as allowed", events: after(many...)},
		{
			name: "too many requests", reason: restless, event: 5 + history.QuiescenceRequests,
			events: after(append(many, sends(1, "delete", 0))...),
		},
		{
			name:   "requests of several processes",
			events: after(append(many, sends(2, "delete", 0))...),
		},
		{name: "pings", events: after(sends(1, "ping", time.Hour), sends(1, "close", time.Hour))},
		{
			name:   "before the fair phase",
			events: slices.Concat(used[:4], many, many, events{fair}, many),
		},
		{
			name:   "late in the run, early in the fair phase",
			events: slices.Concat(used[:4], events{at(fair, time.Hour), sends(1, "x", time.Hour)}),
		},
		{name: "while it waits", events: after(append(many, lockCall(1, 2), late)...)},
		{name: "while it holds", events: after(lockCall(1, 2), lockOK(1, 2, ""), late)},
		{
			name:   "while it unlocks",
			events: after(lockCall(1, 2), lockOK(1, 2, ""), unlockCall(1, 2), late),
		},
		{
			name: "after its last unlock", reason: restless, event: 9,
			events: after(lockCall(1, 2), lockOK(1, 2, ""), unlockCall(1, 2), unlockOK(1, 2), late),
		},
		{
			name: "soon after its last unlock",
			events: after(lockCall(1, 2), lockOK(1, 2, ""), unlockCall(1, 2),
				at(unlockOK(1, 2), time.Second), late),
		},
		{
			name: "the requests before its last attempt do not count",
			events: after(slices.Concat(many, events{lockCall(1, 2), lockFailed(1, 2)},
				many)...),
		},
		{
			name: "after a failure", reason: restless, event: 7,
			events: after(lockCall(1, 2), lockFailed(1, 2), late),
		},
		{
			name: "after an unlock that failed", reason: restless, event: 9,
			events: after(lockCall(1, 2), lockOK(1, 2, ""), unlockCall(1, 2), unlockFailed(1, 2),
				late),
		},
		{
			name: "another process holds", reason: restless, event: 7,
			events: after(lockCall(2, 1), lockOK(2, 1, ""), late),
		},
		{
			name: "another thread waits", events: after(lockCall(second, 1), late),
		},
		{
			name: "of several threads none waits any more", reason: restless, event: 8,
			events: after(lockCall(second, 1), lockOK(second, 1, ""), unlockOK(second, 1), late),
		},
		{
			name: "of a process that has never called", reason: restless, event: 1,
			events: events{fair, late},
		},
	})
}
