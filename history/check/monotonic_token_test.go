package check_test

import (
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

func TestToken(t *testing.T) {
	const fell = "a fencing token is not higher than one of an earlier grant"
	type events = []history.Event
	grant := func(process int32, path string, token int64) history.Event {
		return history.Event{
			Kind: history.LockReturn, Process: process, Attempt: 1, Path: path,
			Zxid: token,
		}
	}
	node := func(kind history.Kind, process int32, path string) history.Event {
		return history.Event{
			Kind: kind, Process: process, Path: path, Zxid: 3,
			Session: int64(process),
		}
	}
	first := node(history.NodeCreated, 1, "/l/a")
	judge(t, history.MonotonicToken, check.MonotonicToken, []verdict{
		{name: "nothing"},
		{name: "rising", events: events{
			grant(1, "/l/a", 3), grant(2, "/l/b", 4),
			grant(1, "/l/c", 9),
		}},
		{name: "equal", reason: fell, event: 1, events: events{
			grant(1, "/l/a", 3),
			grant(2, "/l/b", 3),
		}},
		{name: "falling", reason: fell, event: 1, events: events{
			grant(1, "/l/a", 99),
			grant(2, "/l/b", 3),
		}},
		{
			name: "lower than one before the last", reason: fell, event: 2,
			events: events{grant(1, "/l/a", 5), grant(2, "/l/b", 7), grant(1, "/l/c", 6)},
		},
		{name: "none", events: events{
			grant(1, "/l/a", 0), grant(2, "/l/b", 0), grant(1, "/l/c", 1),
			grant(2, "/l/d", 0),
		}},
		{name: "not granted", events: events{grant(1, "/l/a", 5), {
			Kind: history.LockReturn, Process: 2,
			Zxid: 4, Err: "no",
		}}},
		{name: "late, by a deleted node", events: events{
			{Kind: history.LockCall, Process: 1, Attempt: 1},
			first, node(history.NodeDeleted, 1, "/l/a"),
			grant(2, "/l/b", 7), grant(1, "/l/a", 3),
		}},
		{name: "late, by a live node", reason: fell, event: 3, events: events{
			{Kind: history.LockCall, Process: 1, Attempt: 1},
			first, grant(2, "/l/b", 7),
			grant(1, "/l/a", 3),
		}},
	})
}
