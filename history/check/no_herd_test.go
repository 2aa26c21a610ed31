package check_test

import (
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

func TestHerd(t *testing.T) {
	const (
		herd      = "one release woke more waiting processes than the lock allows"
		expensive = "an acquire cost more requests than the lock allows"
	)
	type events = []history.Event
	watch := func(p, number int32, path, kind string) history.Event {
		e := armed(p, number, path, kind)
		e.Request = number
		return e
	}
	// One process holds the lock, and two wait with a watch on its node.
	queue := events{
		lockCall(1, 1), created(1, "/l/a", 1), lockOK(1, 1, "/l/a"), lockCall(2, 1),
		created(2, "/l/b", 2),
		lockCall(3, 1), created(3, "/l/c", 3), watch(2, 1, "/l/a", "data"),
		watch(3, 2, "/l/a", "data"),
		unlockCall(1, 1),
	}
	then := func(rest ...history.Event) events { return slices.Concat(queue, rest) }
	release, one, two := deleted(1, "/l/a", 4), fired(2, 1, "/l/a", 4), fired(3, 2, "/l/a", 4)
	requests := func(n int, rest ...history.Event) events {
		sends := slices.Repeat(events{
			{Kind: history.Send, Process: 1, Op: "children"},
			{Kind: history.Reply, Process: 1},
		}, n)
		return slices.Concat(events{lockCall(1, 1)}, sends, rest)
	}
	limits := history.Limits{WakeUps: 1, Requests: 4, RequestsPerChange: 2}
	judge(t, history.NoHerd, func(e []history.Event) *history.Violation {
		return check.NoHerd(e,
			limits)
	}, []verdict{
		{name: "nothing"},
		{name: "two are woken", reason: herd, event: 12, events: then(release, one, two)},
		{name: "one is woken", events: then(release, one)},
		{name: "one is woken by two watches", events: then(watch(2, 3, "/l", "child"), release, one,
			fired(2, 3, "/l", 4))},
		{
			name: "woken by the directory", reason: herd, event: 13,
			events: then(watch(3, 3, "/l", "child"),
				release, one, fired(3, 3, "/l", 4)),
		},
		{name: "the second watches another node", events: then(watch(3, 3, "/l/b", "data"), release,
			one,
			fired(3, 3, "/l/b", 4))},
		{name: "the second does not wait", events: then(lockFailed(3, 1), release, one, two)},
		{name: "the second has asked again since", events: then(lockFailed(3, 1), lockCall(3, 2),
			release,
			one, two)},
		{name: "the second has crashed", events: then(crash(3), release, one, two)},
		{name: "the second's node is deleted", events: then(deleted(3, "/l/c", 3), release, one,
			two)},
		{
			name: "the second has set its watch after the deletion of its node",
			events: then(deleted(3, "/l/c", 3),
				watch(3, 3, "/l/a", "data"), release, one, fired(3, 3, "/l/a", 4)),
		},
		{
			name: "the second has another node since", reason: herd, event: 15,
			events: then(deleted(3, "/l/c", 3), created(3, "/l/d", 3), watch(3, 3, "/l/a", "data"),
				release, one, fired(3, 3, "/l/a", 4)),
		},
		{name: "two releases", events: then(release, one, deleted(9, "/l/x", 5),
			fired(3, 2, "/l/a", 5))},
		{name: "a node that was never granted", events: events{
			lockCall(1, 1), created(1, "/l/a", 1), lockCall(2, 1), lockCall(3, 1),
			watch(2, 1, "/l/a", "data"), watch(3, 2, "/l/a", "data"),
			deleted(1, "/l/a", 4), one, two,
		}},

		{
			name: "too many requests", reason: expensive, event: 11,
			events: requests(5, lockOK(1, 1, "")),
		},
		{name: "just enough requests", events: requests(4, lockOK(1, 1, ""))},
		{name: "too many, and Lock fails", events: requests(5, lockFailed(1, 1))},
		{name: "more because a node was deleted", events: requests(6, deleted(2, "/l/b", 1),
			lockOK(1, 1, ""))},
		{
			name: "more than for a deleted node", reason: expensive, event: 16,
			events: requests(7, deleted(2, "/l/b", 1), lockOK(1, 1, "")),
		},
		{name: "disturbed by a fault", events: requests(5, history.Event{
			Kind: history.Fault, Process: 1,
			Name: "cut",
		}, lockOK(1, 1, ""))},
		{
			name: "disturbed by a server's fault",
			events: requests(5, history.Event{Kind: history.Fault, Server: 1, Name: "kill-server"},
				lockOK(1, 1, "")),
		},
		{
			name: "another is disturbed", reason: expensive, event: 12,
			events: requests(5, history.Event{Kind: history.Fault, Process: 2, Name: "cut"},
				lockOK(1, 1, "")),
		},
		{name: "disturbed by its connection", events: requests(5, state(1, "disconnected"),
			lockOK(1, 1, ""))},
		{name: "time passes while a reply is under way", events: requests(5, on(history.Send, 1),
			on(history.Tick, 0), on(history.Reply, 1), lockOK(1, 1, ""))},
		{
			name: "time passes while an event is under way",
			events: requests(5, fired(1, 1, "/l/a", 4),
				on(history.Tick, 0),
				delivered(1, 1, "/l/a", 4), lockOK(1, 1, "")),
		},
		{
			name: "time passes after an event has come", reason: expensive, event: 14,
			events: requests(5, fired(1, 1, "/l/a", 4),
				delivered(1, 1, "/l/a", 4), on(history.Tick, 0), lockOK(1, 1, "")),
		},
		{
			name: "time passes while a reply to the attempt before is under way",
			events: slices.Concat(events{lockCall(1, 1), on(history.Send, 1), lockFailed(1, 1)},
				requests(5), events{on(history.Tick, 0), lockOK(1, 1, "")}),
		},
		{
			name: "time passes on a new connection", reason: expensive, event: 16,
			events: slices.Concat(events{
				lockCall(1, 1), on(history.Send, 1),
				state(1, "disconnected"), lockFailed(1, 1),
			}, requests(5), events{on(history.Tick, 0), lockOK(1, 1, "")}),
		},
		{
			name: "what the client library asks for by itself",
			events: slices.Concat(events{lockCall(1, 1)},
				slices.Repeat(events{
					{Kind: history.Send, Process: 1, Op: "ping"},
					{Kind: history.Reply, Process: 1},
				}, 5), events{lockOK(1, 1, "")}),
		},
		{name: "returned twice", events: slices.Concat(events{lockCall(1, 1), lockOK(1, 1, "")},
			requests(5)[1:], events{lockOK(1, 1, "")})},
		{
			name: "time passes otherwise", reason: expensive, event: 12,
			events: requests(5, on(history.Tick, 0), lockOK(1, 1, "")),
		},
	})
}

func TestMeasure(t *testing.T) {
	cost, v := check.Measure(contention(3), history.DefaultLimits)
	want := check.Cost{Releases: 3, WakeUps: 2, WakeUpsMax: 1}
	want.Acquires, want.Requests, want.RequestsMax = cost.Acquires, cost.Requests, cost.RequestsMax
	if v != nil || cost != want || cost.Acquires == 0 || cost.RequestsMax == 0 {
		t.Errorf("%+v, %v", cost, v)
	}
}

// The cost of an undisturbed acquire is the number of its lock requests and replies.
func TestCost(t *testing.T) {
	message := func(kind history.Kind, p int32, op string, bytes int32) history.Event {
		return history.Event{Kind: kind, Process: p, Op: op, Bytes: bytes}
	}
	asks := []history.Event{
		message(history.Send, 1, "create", 10), message(history.Reply, 1, "create", 20),
		message(history.Send, 1, "ping", 1000),
		message(history.Reply, 1, "ping", 1000), message(history.Send, 1, "children", 3),
		message(history.Reply, 1, "children", 400),
	}
	first, _ := check.Measure(slices.Concat([]history.Event{lockCall(1, 1)}, asks,
		[]history.Event{lockOK(1, 1, ""), lockCall(1, 2)}, asks[:2],
		[]history.Event{lockOK(1, 2, ""), lockCall(1, 3)}, asks, []history.Event{
			cancelled(1),
			lockOK(1, 3, ""),
		}), history.DefaultLimits)
	if want := (check.Cost{
		Acquires: 2, Requests: 3, RequestsMax: 2, Bytes: 463,
		BytesMax: 433,
	}); first != want {
		t.Errorf("%+v, want %+v", first, want)
	}
	sum := check.Cost{
		Releases: 1, WakeUps: 2, WakeUpsMax: 3, Acquires: 4, Requests: 5,
		RequestsMax: 6, Bytes: 7, BytesMax: 8,
	}
	sum.Add(&check.Cost{
		Releases: 10, WakeUps: 20, WakeUpsMax: 2, Acquires: 40, Requests: 50,
		RequestsMax: 60, Bytes: 70, BytesMax: 7,
	})
	if want := (check.Cost{
		Releases: 11, WakeUps: 22, WakeUpsMax: 3, Acquires: 44, Requests: 55,
		RequestsMax: 60, Bytes: 77, BytesMax: 8,
	}); sum != want {
		t.Errorf("%+v, want %+v", sum, want)
	}
	sum.Add(&check.Cost{WakeUpsMax: 9, BytesMax: 9})
	if sum.WakeUpsMax != 9 || sum.BytesMax != 9 || sum.RequestsMax != 60 {
		t.Errorf("%+v", sum)
	}
}

func TestHerdOfNamesAndWatches(t *testing.T) {
	type events = []history.Event
	node := func(path string, session int64) history.Event {
		return history.Event{Kind: history.NodeCreated, Process: 1, Path: path, Session: session}
	}
	watch := func(kind string, request int32) history.Event {
		e := armed(1, 1, "/l/a", kind)
		e.Request = request
		return e
	}
	const (
		long   = "the name of a node is longer than the lock allows"
		leaves = "a process watches a node that does not exist"
	)
	limits := history.DefaultLimits
	limits.NameLength, limits.NoExistWatches = 4, true
	judge(t, history.NoHerd, func(e []history.Event) *history.Violation {
		return check.NoHerd(e, limits)
	}, []verdict{
		{name: "a name of the greatest length", events: events{node("/long/n-01", 1)}},
		{name: "a longer name", reason: long, event: 1, events: events{
			node("/l/n-01", 1), node("/l/n-002", 1),
		}},
		{name: "a longer name of a persistent node", events: events{node("/directory", 0)}},
		{name: "a watch on a node", events: events{watch("data", 1)}},
		{name: "a watch on no node", reason: leaves, event: 0, events: events{watch("exist", 1)}},
		{name: "a watch that the client sets again", events: events{watch("exist", 0)}},
	})
	without := func(e []history.Event) *history.Violation {
		return check.NoHerd(e, history.DefaultLimits)
	}
	judge(t, history.NoHerd, without, []verdict{
		{name: "without limits", events: events{node("/l/n-002", 1), watch("exist", 1)}},
	})
}
