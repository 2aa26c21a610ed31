package check_test

import (
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

func TestNoEarlyPass(t *testing.T) {
	const (
		enter = "a process passed a barrier before enough others had reached it"
		leave = "a process left a barrier while another was still inside"
	)
	type events = []history.Event
	// One after the other calls Lock, and all are granted by nodes of their names.
	come := events{
		on(history.Tick, 0), lockCall(1, 1), created(1, "/l/1", 1), lockCall(2, 1),
		created(2, "/l/2", 2),
	}
	met := append(slices.Clone(come), lockOK(1, 1, "/l/1"), lockOK(2, 1, "/l/2"))
	after := func(before events, more ...history.Event) events {
		return slices.Concat(before, more)
	}
	judge(t, history.NoEarlyPass, func(events []history.Event) *history.Violation {
		return check.NoEarlyPass(events, 2)
	}, []verdict{
		{name: "nothing"},
		{name: "two meet", events: met},
		{
			name: "alone", reason: enter, event: 2,
			events: events{on(history.Tick, 0), lockCall(1, 1), lockOK(1, 1, "/l/1")},
		},
		{
			name: "after another has failed", reason: enter, event: 4,
			events: events{
				on(history.Tick, 0), lockCall(1, 1), lockFailed(1, 1), lockCall(2, 1),
				lockOK(2, 1, "/l/2"),
			},
		},
		{name: "before another fails", events: after(come, lockFailed(1, 1), lockOK(2, 1, "/l/2"))},
		{
			name: "with another that was counted before", reason: enter, event: 8,
			events: after(come, lockOK(2, 1, "/l/2"), lockCall(3, 1), lockOK(1, 1, "/l/1"),
				lockOK(3, 1, "/l/3")),
		},
		{
			name: "two rounds at once",
			events: after(come, lockCall(3, 1), lockCall(4, 1), lockOK(4, 1, "/l/4"),
				lockOK(1, 1, "/l/1"), lockOK(3, 1, "/l/3"), lockOK(2, 1, "/l/2")),
		},
		{name: "with a crashed one", events: after(come, crash(1), lockOK(2, 1, "/l/2"))},
		{
			name: "with one whose session is over", reason: enter, event: 5,
			events: events{
				on(history.Tick, 0), lockCall(1, 1), crash(1),
				{Kind: history.SessionExpired, Process: 1},
				lockCall(2, 1), lockOK(2, 1, ""),
			},
		},
		{
			name: "leaves first", reason: leave, event: 8,
			events: after(met, unlockCall(1, 1), unlockOK(1, 1)),
		},
		{
			name:   "leaves when the other does",
			events: after(met, unlockCall(1, 1), unlockCall(2, 1), unlockOK(1, 1)),
		},
		{name: "fails to leave", events: after(met, unlockCall(1, 1), unlockFailed(1, 1))},
		{
			name: "leaves before the other has entered", reason: leave, event: 7,
			events: after(come, lockOK(1, 1, "/l/1"), unlockCall(1, 1), unlockOK(1, 1)),
		},
		{
			name:   "leaves after the other has lost it",
			events: after(met, lost(2, 1), unlockCall(1, 1), unlockOK(1, 1)),
		},
		{
			name: "leaves after the other's session",
			events: after(met, history.Event{Kind: history.SessionExpired, Process: 2},
				unlockCall(1, 1), unlockOK(1, 1)),
		},
		{
			name: "leaves after the other has deleted its node",
			events: after(come, lockOK(1, 1, "/l/1"), deleted(2, "/l/2", 3), unlockCall(1, 1),
				unlockOK(1, 1)),
		},
		{
			name: "leaves after the other is granted it by another node", reason: leave, event: 10,
			events: after(come, lockOK(1, 1, "/l/1"), deleted(2, "/l/2", 3),
				created(2, "/l/3", 4), lockOK(2, 1, "/l/3"), unlockCall(1, 1), unlockOK(1, 1)),
		},
	})
}

// A process that waits alone at a barrier does not break progress, and two that wait do.
func TestProgressAtBarrier(t *testing.T) {
	c := check.Checker{Limits: history.Limits{Places: 2}, Barrier: true}
	alone := []history.Event{lockCall(1, 1), on(history.FairPhase, 0)}
	if v := c.Check(history.Progress, alone); v != nil {
		t.Errorf("alone: %+v", v)
	}
	two := append(alone, lockCall(2, 1))
	if c.Check(history.Progress, two) == nil {
		t.Error("two that wait for each other do not break progress")
	}
	if v := c.Check(history.Progress, append(two, crash(2))); v != nil {
		t.Errorf("with a crashed one: %+v", v)
	}
	inside := append(alone, lockOK(1, 1, ""), unlockCall(1, 1))
	if c.Check(history.Progress, inside) == nil {
		t.Error("an Unlock that does not return does not break progress")
	}
}
