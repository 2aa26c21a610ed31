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

func TestNoEarlyPassOfSingleBarrier(t *testing.T) {
	const early = "a process passed a barrier while it was set"
	type events = []history.Event
	wait, pass := lockCall(2, 1), lockOK(2, 1, "")
	wait.Op, pass.Op = history.SharedMode, history.SharedMode
	failed := lockFailed(2, 1)
	failed.Op = history.SharedMode
	set := events{on(history.Tick, 0), lockCall(1, 1), lockOK(1, 1, "")}
	after := func(before events, more ...history.Event) events {
		return slices.Concat(before, more)
	}
	judge(t, history.NoEarlyPass, func(events []history.Event) *history.Violation {
		return check.NoEarlyPass(events, 1)
	}, []verdict{
		{name: "before it is set", events: events{on(history.Tick, 0), wait, pass}},
		{name: "while it is set", reason: early, event: 4, events: after(set, wait, pass)},
		{name: "gives up while it is set", events: after(set, wait, failed)},
		{name: "called before it was set", events: events{
			on(history.Tick, 0), lockCall(1, 1), wait, lockOK(1, 1, ""), pass,
		}},
		{name: "removed meanwhile", events: after(set, wait, unlockCall(1, 1), pass)},
		{name: "removed and set again meanwhile", events: after(set, wait, unlockCall(1, 1),
			unlockOK(1, 1), lockCall(1, 2), lockOK(1, 2, ""), pass)},
		{
			name: "set again before", reason: early, event: 8,
			events: after(set, unlockCall(1, 1), unlockOK(1, 1), lockCall(1, 2), lockOK(1, 2, ""),
				wait, pass),
		},
		{name: "set again after a failed removal", events: after(set, unlockCall(1, 1),
			unlockFailed(1, 1), lockCall(1, 2), lockOK(1, 2, ""), wait, pass)},
		{name: "set while another sets it", events: after(set[:2], lockCall(3, 1),
			lockOK(1, 1, ""), wait, pass)},
		{
			name: "set although another could not", reason: early, event: 6,
			events: after(set[:2], lockCall(3, 1), lockFailed(3, 1), lockOK(1, 1, ""), wait, pass),
		},
		{name: "another removes it", events: after(set, lockCall(3, 1), lockOK(3, 1, ""),
			unlockCall(3, 1), unlockOK(3, 1), wait, pass)},
		{
			name: "set by a process that has crashed", reason: early, event: 5,
			events: after(set, crash(1), wait, pass),
		},
		{
			name: "while it is set, the second time", reason: early, event: 8,
			events: after(set[:1], wait, pass, unlockCall(2, 1), unlockOK(2, 1), lockCall(1, 1),
				lockOK(1, 1, ""), wait, pass),
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
	wait := lockCall(2, 1)
	wait.Op = history.SharedMode
	single := check.Checker{Limits: history.Limits{Places: 1}, Barrier: true}
	set := []history.Event{lockCall(1, 1), lockOK(1, 1, ""), wait, on(history.FairPhase, 0)}
	if single.Check(history.Progress, set) == nil {
		t.Error("a process that waits at a single barrier does not break progress")
	}
	if v := single.Check(history.Progress, append(set, crash(1))); v != nil {
		t.Errorf("at a barrier that a crashed process has set: %+v", v)
	}
	inside := append(alone, lockOK(1, 1, ""), unlockCall(1, 1))
	if c.Check(history.Progress, inside) == nil {
		t.Error("an Unlock that does not return does not break progress")
	}
}
