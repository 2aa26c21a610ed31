package check_test

import (
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

func TestReentrancy(t *testing.T) {
	const (
		tooSoon = "the lock was given back before its last unlock"
		tooLate = "the lock was kept after its last unlock"
		refusal = "a holder was refused the lock that it has"
	)
	type events = []history.Event
	held := func(rest ...history.Event) events {
		return append(events{
			lockCall(1, 1), created(1, "/l/a", 1), lockOK(1, 1, "/l/a"),
			reenter(1, 1),
		},
			rest...)
	}
	free := deleted(1, "/l/a", 2)
	end := expired(1)
	end.Zxid = 2
	judge(t, history.Reentrancy, check.Reentrancy, []verdict{
		{name: "nothing"},
		{name: "as many", events: held(reentered(1, 1), exited(1, 1), unlockCall(1, 1), free,
			unlockOK(1, 1))},
		{name: "too soon", reason: tooSoon, event: 5, events: held(reentered(1, 1), free,
			exited(1, 1),
			unlockCall(1, 1), unlockOK(1, 1))},
		{name: "with its session", events: held(reentered(1, 1), free, end, exited(1, 1),
			unlockCall(1, 1), unlockFailed(1, 1))},
		{name: "with its session, which it closes", events: held(reentered(1, 1), free,
			history.Event{Kind: history.SessionClosed, Process: 1, Zxid: 2}, exited(1, 1))},
		{name: "before its session ends", reason: tooSoon, event: 5, events: held(reentered(1, 1),
			free,
			expired(1), exited(1, 1))},
		{name: "by another", events: held(reentered(1, 1), deleted(2, "/l/a", 2), exited(1, 1))},
		{name: "after it was told of a loss", events: held(reentered(1, 1), lost(1, 1), free,
			exited(1, 1))},
		{name: "another node of its own", events: held(reentered(1, 1), created(1, "/l/b", 2),
			deleted(1, "/l/b", 3), exited(1, 1))},
		{name: "too late", reason: tooLate, event: 7, events: held(reentered(1, 1), exited(1, 1),
			unlockCall(1, 1), unlockOK(1, 1), free)},
		{name: "too late, and said so", events: held(reentered(1, 1), exited(1, 1),
			unlockCall(1, 1),
			unlockFailed(1, 1), free)},
		{
			name: "too late, and the first event made the node", reason: tooLate, event: 4,
			events: events{
				created(1, "/l/a", 1), lockCall(1, 1),
				lockOK(1, 1, "/l/a"), unlockCall(1, 1), unlockOK(1, 1),
			},
		},
		{name: "no node is known", events: events{
			lockCall(1, 1), lockOK(1, 1, ""), unlockCall(1, 1),
			unlockOK(1, 1),
		}},
		{name: "refused", reason: refusal, event: 4, events: held(reenterFailed(1, 1), enter(1, 1),
			unlockCall(1, 1))},
		{name: "refused because it is lost", events: held(reenterFailed(1, 1), lost(1, 1),
			unlockCall(1, 1))},
		{name: "refused because it is gone", events: held(free, end, reenterFailed(1, 1),
			unlockCall(1, 1))},
		{name: "refused after it was told", events: held(lost(1, 1), reenterFailed(1, 1),
			unlockCall(1, 1))},
		{name: "refused as it goes, and then told", events: held(reenterFailed(1, 1), free, end,
			lost(1, 1), unlockCall(1, 1))},
		{name: "another attempt fails", events: held(reentered(1, 1), lockCall(1, 2),
			lockFailed(1, 2),
			unlockCall(1, 1))},
		{name: "another attempt ends", events: held(reentered(1, 1), unlockOK(1, 2), exited(1, 1))},
		{name: "granted again by the same node", events: held(reentered(1, 1), lockCall(1, 2),
			lockOK(1, 2, "/l/a"))},
		{name: "refused and crashed", events: held(reenterFailed(1, 1), crash(1))},
	})
}
