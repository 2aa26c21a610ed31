package check_test

import (
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

func TestNoOrphan(t *testing.T) {
	const orphan = "an ephemeral node outlived its creator's interest in the lock"
	judge(t, history.NoLeakedNodes, check.NoLeakedNodes, []verdict{
		{name: "nothing"},
		{name: "lock failed", reason: orphan, event: 2, events: []history.Event{
			lockCall(1, 1),
			created(1, "/l/a", 1), lockFailed(1, 1),
		}},
		{
			name: "created after lock failed", reason: orphan, event: 2,
			events: []history.Event{lockCall(1, 1), lockFailed(1, 1), created(1, "/l/a", 1)},
		},
		{name: "unlock returned", reason: orphan, event: 4, events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), lockOK(1, 1, ""), unlockCall(1, 1),
			unlockOK(1, 1),
		}},
		{name: "unlock failed", reason: orphan, event: 4, events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), lockOK(1, 1, ""), unlockCall(1, 1),
			unlockFailed(1, 1),
		}},
		{name: "one of two deleted", reason: orphan, event: 4, events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), created(1, "/l/b", 2), deleted(1, "/l/b", 3),
			lockFailed(1, 1),
		}},
		{name: "another session ended", reason: orphan, event: 2, events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), lockFailed(1, 1), expired(2),
		}},
		{
			name: "never interested", reason: orphan, event: 0,
			events: []history.Event{created(1, "/l/a", 1), lockCall(2, 1)},
		},
		{name: "another process waits", reason: orphan, event: 4, events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), lockCall(2, 1), created(2, "/l/b", 2),
			lockFailed(2, 1),
		}},
		{name: "another node deleted", reason: orphan, event: 2, events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), lockFailed(1, 1), lockCall(2, 1),
			created(2, "/l/b", 2),
			deleted(2, "/l/b", 3),
		}},
		{
			name: "its call is not known", reason: orphan, event: 0,
			events: []history.Event{created(1, "/l/a", 1), lockFailed(1, 1)},
		},
		{name: "deleted", events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), lockFailed(1, 1),
			deleted(1, "/l/a", 2),
		}},
		{name: "persistent", events: []history.Event{
			lockCall(1, 1), persistent(1, "/l", 1),
			lockFailed(1, 1),
		}},
		{name: "waiting", events: []history.Event{lockCall(1, 1), created(1, "/l/a", 1)}},
		{name: "holding", events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1),
			lockOK(1, 1, ""),
		}},
		{name: "giving back", events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1),
			lockOK(1, 1, ""), unlockCall(1, 1),
		}},
		{name: "interested again", events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1),
			lockFailed(1, 1), lockCall(1, 2),
		}},
		{name: "an older interest ends", events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), lockOK(1, 1, ""), lockCall(1, 2), unlockOK(1, 1),
		}},
		{name: "crashed", events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), lockFailed(1, 1),
			crash(1),
		}},
		{name: "session expired", events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1),
			lockFailed(1, 1), expired(1),
		}},
		{name: "session closed", events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), lockFailed(1, 1), {
				Kind:    history.SessionClosed,
				Process: 1, Session: session(1),
			},
		}},
	})
}
