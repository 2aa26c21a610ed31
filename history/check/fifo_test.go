package check_test

import (
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

func TestFIFO(t *testing.T) {
	const overtaken = "the lock was granted while a process with an older node was waiting"
	judge(t, history.FIFO, check.FIFO, []verdict{
		{name: "nothing"},
		{name: "overtaken", reason: overtaken, event: 4, events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), lockCall(2, 1), created(2, "/l/b", 2),
			lockOK(2, 1, "/l/b"),
		}},
		{name: "overtaken after a crash", reason: overtaken, event: 5, events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), crash(1), lockCall(2, 1), created(2, "/l/b", 2),
			lockOK(2, 1, "/l/b"),
		}},
		{
			name: "overtaken by a node that is deleted", reason: overtaken, event: 5,
			events: []history.Event{
				lockCall(1, 1), created(1, "/l/a", 1), lockCall(2, 1), created(2, "/l/b", 2),
				deleted(2, "/l/b", 3), lockOK(2, 1, ""),
			},
		},
		{name: "the order of nodes counts, not that of calls", events: []history.Event{
			lockCall(1, 1), lockCall(2, 1), created(2, "/l/a", 1), created(1, "/l/b", 2),
			lockOK(2, 1, "/l/a"),
		}},
		{name: "the zxid counts, not the name", events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 2), lockCall(2, 1), created(2, "/l/b", 1),
			lockOK(2, 1, "/l/b"),
		}},
		{name: "in turn", events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), lockCall(2, 1), created(2, "/l/b", 2),
			lockOK(1, 1, "/l/a"), lockOK(2, 1, "/l/b"),
		}},
		{name: "in another directory", events: []history.Event{
			lockCall(1, 1), created(1, "/m/a", 1), lockCall(2, 1), created(2, "/l/b", 2),
			lockOK(2, 1, "/l/b"),
		}},
		{name: "the older is deleted", events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), deleted(1, "/l/a", 2), lockCall(2, 1),
			created(2, "/l/b", 3), lockOK(2, 1, "/l/b"),
		}},
		{name: "an older one is deleted whose path was used before", events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), deleted(1, "/l/a", 2), lockCall(2, 1),
			created(2, "/l/a", 3), deleted(2, "/l/a", 4),
			lockCall(3, 1), created(3, "/l/b", 5), lockOK(3, 1, "/l/b"),
		}},
		{name: "the older was made after its attempt had failed", events: []history.Event{
			lockCall(1, 1), lockFailed(1, 1), created(1, "/l/a", 1), lockCall(2, 1),
			created(2, "/l/b", 2),
			lockOK(2, 1, "/l/b"),
		}},
		{name: "the older was taken over and granted", events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), lockCall(2, 1), lockOK(2, 1, "/l/a"),
			lockCall(3, 1),
			created(3, "/l/b", 2),
			lockOK(3, 1, "/l/b"),
		}},
		{name: "the older cancelled", events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), lockFailed(1, 1), lockCall(2, 1),
			created(2, "/l/b", 2),
			lockOK(2, 1, "/l/b"),
		}},
		{name: "the older cancelled and returned", events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), lockFailed(1, 1), lockCall(1, 2), lockCall(2, 1),
			created(2, "/l/b", 2),
			lockOK(2, 1, "/l/b"),
		}},
		{name: "the older cancelled and crashed", events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), lockFailed(1, 1), crash(1), lockCall(2, 1),
			created(2, "/l/b", 2),
			lockOK(2, 1, "/l/b"),
		}},
		{name: "the older is persistent", events: []history.Event{
			lockCall(1, 1), persistent(1, "/l/a", 1), lockCall(2, 1), created(2, "/l/b", 2),
			lockOK(2, 1, "/l/b"),
		}},
		{name: "the older is its own", events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), created(1, "/l/b", 2), lockOK(1, 1, "/l/b"),
		}},
		{name: "no node is known", events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), lockCall(2, 1), lockOK(2, 1, ""),
		}},
	})
}
