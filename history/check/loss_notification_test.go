package check_test

import (
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

func TestHonestLoss(t *testing.T) {
	const (
		notTold    = "Unlock returned success to a holder whose node had been deleted"
		unsaid     = "Unlock returned success to a holder that was notified of its loss"
		again      = "a holder that had lost the lock was granted it again"
		deadGrant  = "the lock was granted by a deleted node"
		noNode     = "the lock was granted to a process that had no node"
		enteredOut = "a process entered its critical section after it was notified of its loss"
	)
	type events = []history.Event
	held := func(rest ...history.Event) events {
		return append(events{lockCall(1, 1), created(1, "/l/a", 1), lockOK(1, 1, "/l/a")}, rest...)
	}
	gone := deleted(1, "/l/a", 2)
	judge(t, history.LossNotification, check.LossNotification, []verdict{
		{name: "nothing"},
		{name: "never notified", reason: notTold, event: 5, events: held(gone, unlockCall(1, 1),
			unlockOK(1, 1))},
		{name: "notified by the error of Unlock", events: held(gone, unlockCall(1, 1),
			unlockFailed(1, 1))},
		{name: "notified before", events: held(gone, lost(1, 1), unlockCall(1, 1),
			unlockFailed(1, 1))},
		{name: "not lost", events: held(unlockCall(1, 1), gone, unlockOK(1, 1))},
		{name: "another's node", events: held(created(2, "/l/b", 2), deleted(2, "/l/b", 3),
			unlockCall(1, 1), unlockOK(1, 1))},
		{name: "deleted when it was granted", reason: notTold, event: 5, events: events{
			lockCall(1, 1), created(1, "/l/a", 1), gone, lockOK(1, 1, "/l/a"), unlockCall(1, 1),
			unlockOK(1, 1),
		}},
		{name: "unlocked in another attempt", events: held(gone, unlockOK(1, 2))},
		{
			name: "never notified, after an attempt that failed", reason: notTold, event: 7,
			events: held(gone, lockCall(1, 2), lockFailed(1, 2),
				unlockCall(1, 1), unlockOK(1, 1)),
		},
		{
			name: "never notified for a second hold", reason: notTold, event: 8,
			events: held(lockCall(1, 2),
				created(1, "/l/b", 2), lockOK(1, 2, "/l/b"),
				deleted(1, "/l/b", 3), unlockCall(1, 2), unlockOK(1, 2)),
		},
		{name: "crashed", events: held(gone, crash(1), unlockOK(1, 1))},

		{
			name: "notified, and then contradicted", reason: unsaid, event: 5,
			events: held(lost(1, 1), unlockCall(1, 1),
				unlockOK(1, 1)),
		},
		{name: "notified in an older attempt", events: held(lost(1, 0), unlockCall(1, 1), gone,
			unlockOK(1, 1))},

		{
			name: "reentered after the deletion", reason: again, event: 5,
			events: held(gone, reenter(1, 1),
				reentered(1, 1)),
		},
		{
			name: "reentered after the notification", reason: again, event: 5,
			events: held(lost(1, 1), reenter(1, 1), reentered(1, 1)),
		},
		{name: "reentered during the deletion", events: held(reenter(1, 1), gone, reentered(1, 1))},
		{name: "reentered during the notification", events: held(reenter(1, 1), lost(1, 1),
			reentered(1, 1))},
		{name: "reentry refused", events: held(gone, reenter(1, 1), reenterFailed(1, 1))},

		{
			name: "enters after the notification", reason: enteredOut, event: 4,
			events: held(lost(1, 1), enter(1, 1)),
		},
		{name: "enters during a reentry", events: held(gone, reenter(1, 1), enter(1, 1),
			lost(1, 1))},
		{name: "enters before the notification", events: held(gone, enter(1, 1), lost(1, 1))},

		{name: "a deleted node", reason: deadGrant, event: 6, events: held(gone, unlockFailed(1, 1),
			lockCall(1, 2), lockOK(1, 2, "/l/a"))},
		{name: "a node created again", events: held(gone, unlockFailed(1, 1), lockCall(1, 2),
			created(1, "/l/a", 3), lockOK(1, 2, "/l/a"))},
		{name: "no node", reason: noNode, event: 6, events: held(gone, unlockFailed(1, 1),
			lockCall(1, 2),
			lockOK(1, 2, ""))},
		{name: "the node from before", events: held(unlockFailed(1, 1), lockCall(1, 2),
			lockOK(1, 2, ""))},
		{name: "a dead node of an attempt that failed", reason: deadGrant, event: 5, events: events{
			lockCall(1, 1), created(1, "/l/a", 1), gone, lockFailed(1, 1), lockCall(1, 2),
			lockOK(1, 2, "/l/a"),
		}},
		{
			name: "a deleted node, though another is live", reason: deadGrant, event: 7,
			events: held(gone, unlockFailed(1, 1), created(1, "/l/b", 3),
				lockCall(1, 2), lockOK(1, 2, "/l/a")),
		},
		{name: "an unknown node", events: held(gone, unlockFailed(1, 1), lockCall(1, 2),
			lockOK(1, 2, "/x"))},
		{name: "a failed attempt without a node", events: held(gone, unlockFailed(1, 1),
			lockCall(1, 2),
			lockFailed(1, 2))},
		{
			name: "no node, though another process has one", reason: noNode, event: 7,
			events: held(gone, unlockFailed(1, 1), lockCall(1, 2),
				created(2, "/l/b", 3), lockOK(1, 2, "")),
		},
		{
			name: "no node but one that is not ephemeral", reason: noNode, event: 7,
			events: held(gone, unlockFailed(1, 1), lockCall(1, 2),
				persistent(1, "/l/b", 3), lockOK(1, 2, "")),
		},
		{
			name: "no node since the first event", reason: noNode, event: 3,
			events: events{created(1, "/l/a", 1), gone, lockCall(1, 1), lockOK(1, 1, "")},
		},
		{name: "never an ephemeral node of its own", events: events{
			state(1, "connected"), persistent(1, "/l/a", 1), created(2, "/l/b", 2),
			deleted(2, "/l/b", 3), lockCall(1, 1), lockOK(1, 1, ""),
		}},
		{name: "no nodes at all", events: events{
			lockCall(1, 1), lockOK(1, 1, ""), unlockOK(1, 1),
			lockCall(1, 2), lockOK(1, 2, "/x"),
		}},
	})
}
