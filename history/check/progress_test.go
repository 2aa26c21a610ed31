package check_test

import (
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

func TestProgress(t *testing.T) {
	const lockStuck, unlockStuck = "a process waits for the lock for ever",
		"a process waits for its unlock for ever"
	live := on(history.FairPhase, 0)
	judge(t, history.Progress, check.Progress, []verdict{
		{name: "nothing"},
		{name: "lock stuck", reason: lockStuck, event: 0, events: []history.Event{
			lockCall(1, 1),
			live,
		}},
		{
			name: "lock stuck that was called later", reason: lockStuck, event: 1,
			events: []history.Event{live, lockCall(1, 1)},
		},
		{name: "another's lock returned", reason: lockStuck, event: 1, events: []history.Event{
			live,
			lockCall(1, 1), lockCall(2, 1), lockOK(2, 1, ""),
		}},
		{name: "another attempt returned", reason: lockStuck, event: 2, events: []history.Event{
			live,
			lockCall(1, 1), lockCall(1, 2), lockFailed(1, 1),
		}},
		{
			name: "only the newer attempt returned", reason: lockStuck, event: 1,
			events: []history.Event{live, lockCall(1, 1), lockCall(1, 2), lockFailed(1, 2)},
		},
		{name: "unlock stuck", reason: unlockStuck, event: 2, events: []history.Event{
			lockCall(1, 1),
			lockOK(1, 1, ""), unlockCall(1, 1), live,
		}},
		{name: "the oldest is named", reason: unlockStuck, event: 2, events: []history.Event{
			lockCall(1, 1), lockOK(1, 1, ""), unlockCall(1, 1), lockCall(2, 1), live,
		}},
		{name: "another crashed", reason: lockStuck, event: 0, events: []history.Event{
			lockCall(1, 1),
			live, crash(2),
		}},
		{name: "not judged", events: []history.Event{lockCall(1, 1)}},
		{name: "lock returned", events: []history.Event{lockCall(1, 1), live, lockOK(1, 1, "")}},
		{name: "lock failed", events: []history.Event{lockCall(1, 1), live, lockFailed(1, 1)}},
		{name: "unlock failed", events: []history.Event{
			lockCall(1, 1), lockOK(1, 1, ""),
			unlockCall(1, 1), live, unlockFailed(1, 1),
		}},
		{name: "crashed", events: []history.Event{lockCall(1, 1), live, crash(1)}},
	})
}
