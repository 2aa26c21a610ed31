package check_test

import (
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

// Each Sometimes is reached by a history that reaches it, and not by one that comes close.
func TestSometimes(t *testing.T) {
	type events = []history.Event
	after := func(before events, more ...history.Event) events {
		return append(before[:len(before):len(before)], more...)
	}
	ends := func(p int32, zxid int64) history.Event { e := expired(p); e.Zxid = zxid; return e }
	one := events{lockCall(1, 1), created(1, "/l/a", 1)}
	two := after(one, lockCall(2, 1), created(2, "/l/b", 2))
	three := after(two, lockCall(3, 1), created(3, "/l/c", 3))
	first := lockOK(1, 1, "/l/a")
	for _, tc := range []struct {
		goal   history.Sometimes
		name   string
		events events
		want   bool
	}{
		{check.Contention, "the holder goes", after(two, first, deleted(1, "/l/a", 4)), true},
		{check.Contention, "a waiter goes", after(two, deleted(1, "/l/a", 4)), false},
		{check.Contention, "nobody waits", after(one, first, deleted(1, "/l/a", 4)), false},
		{check.Contention, "the holder stays", after(two, first, changed(1, "/l/a", 4)), false},
		{check.Contention, "one waits elsewhere", after(one, first, lockCall(2, 1),
			created(2, "/m/b", 2), deleted(1, "/l/a", 4)), false},
		{check.Contention, "one has waited", after(two, first, deleted(2, "/l/b", 3),
			deleted(1, "/l/a", 4)), false},
		{check.Contention, "one has given up", after(two, first, lockFailed(2, 1),
			deleted(1, "/l/a", 4)), false},
		{check.Contention, "one has a node that stays", after(one, first, lockCall(2, 1),
			persistent(2, "/l/b", 2), deleted(1, "/l/a", 4)), false},
		{check.Contention, "it has a second node itself", after(one, created(1, "/l/b", 2), first,
			deleted(1, "/l/a", 4)), false},
		{
			check.Contention, "the last goes", after(two, lockOK(2, 1, "/l/b"),
				deleted(2, "/l/b", 4)),
			false,
		},
		{check.Contention, "the others hold it too", after(two, first, lockOK(2, 1, "/l/b"),
			deleted(1, "/l/a", 4)), false},

		{check.ExpiredHolder, "with two behind it", after(three, first, deleted(1, "/l/a", 4),
			ends(1, 4)), true},
		{check.ExpiredHolder, "with one behind it", after(two, first, deleted(1, "/l/a", 4),
			ends(1, 4)), false},
		{
			check.ExpiredHolder, "one that deletes its node",
			after(three, first, deleted(1, "/l/a", 4),
				ends(1, 5)), false,
		},
		{check.ExpiredHolder, "one that was giving back", after(three, first, unlockCall(1, 1),
			deleted(1, "/l/a", 4), ends(1, 4)), false},
		{check.ExpiredHolder, "a waiter", after(three, deleted(1, "/l/a", 4), ends(1, 4)), false},

		{check.ExpiredWaiter, "with one behind it", after(three, first, deleted(2, "/l/b", 4),
			ends(2, 4)), true},
		{
			check.ExpiredWaiter, "the last", after(three, first, deleted(3, "/l/c", 4),
				ends(3, 4)),
			false,
		},
		{
			check.ExpiredWaiter, "a holder", after(three, first, deleted(1, "/l/a", 4),
				ends(1, 4)),
			false,
		},
		{check.ExpiredWaiter, "one that has given up", after(three, first, lockFailed(2, 1),
			deleted(2, "/l/b", 4), ends(2, 4)), false},

		{check.LostCreate, "the server has made it", events{
			{Kind: history.Serve, Process: 1, Request: 1, Op: "create", Zxid: 3},
			{Kind: history.Reply, Process: 1, Request: 1, Op: "create", Err: "lost"},
		}, true},
		{check.LostCreate, "the server has refused it", events{
			{Kind: history.Serve, Process: 1, Request: 1, Op: "create", Zxid: 2},
			{Kind: history.Reply, Process: 1, Request: 1, Op: "create", Zxid: 2},
			{Kind: history.Serve, Process: 1, Request: 2, Op: "create", Zxid: 3, Err: "no node"},
			{Kind: history.Reply, Process: 1, Request: 2, Op: "create", Err: "lost"},
		}, false},
		{check.LostCreate, "the server told so", events{
			{Kind: history.Serve, Process: 1, Request: 1, Op: "create", Zxid: 3, Err: "no node"},
			{Kind: history.Reply, Process: 1, Request: 1, Op: "create", Err: "no node", Zxid: 3},
		}, false},
		{check.LostCreate, "another request", events{
			{Kind: history.Serve, Process: 1, Request: 1, Op: "create", Zxid: 3},
			{Kind: history.Reply, Process: 1, Request: 2, Op: "create", Err: "lost"},
		}, false},
		{check.LostCreate, "another process", events{
			{Kind: history.Serve, Process: 2, Request: 1, Op: "create", Zxid: 3},
			{Kind: history.Reply, Process: 1, Request: 1, Op: "create", Err: "lost"},
		}, false},
		{check.LostCreate, "a deletion", events{
			{Kind: history.Serve, Process: 1, Request: 1, Op: "delete", Zxid: 3},
			{Kind: history.Reply, Process: 1, Request: 1, Op: "delete", Err: "lost"},
		}, false},
		{check.LostCreate, "never served", events{
			{Kind: history.Send, Process: 1, Request: 1, Op: "create"}, {
				Kind: history.Reply, Process: 1,
				Request: 1, Op: "create", Err: "lost",
			},
		}, false},

		{check.CrashedHolder, "one waits", after(two, first, crash(1)), true},
		{check.CrashedHolder, "nobody waits", after(one, first, crash(1)), false},
		{check.CrashedHolder, "a waiter crashes", after(two, crash(1)), false},
		{check.CrashedHolder, "another crashes", after(two, first, crash(2)), false},
		{
			check.CrashedHolder, "it was giving back", after(two, first, unlockCall(1, 1),
				crash(1)),
			false,
		},

		{check.AbandonedPlace, "one waits behind it", after(three, first, cancelled(2)), true},
		{
			check.AbandonedPlace, "nobody waits behind it", after(three, first, cancelled(3)),
			false,
		},
		{check.AbandonedPlace, "the holder", after(three, first, cancelled(1)), false},
		{check.AbandonedPlace, "its node is gone", after(three, first, deleted(2, "/l/b", 4),
			cancelled(2)), false},
		{
			check.AbandonedPlace, "another fault",
			after(three, first, history.Event{Kind: history.Fault, Process: 2, Name: "cut"}), false,
		},
	} {
		if got := tc.goal.Reached(tc.events); got != tc.want {
			t.Errorf("%s, %s: reached %v", tc.goal.Name, tc.name, got)
		}
	}
}
