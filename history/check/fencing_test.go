package check_test

import (
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

func TestFencedExclusion(t *testing.T) {
	const late = "a write of an older holder was accepted after one of a newer holder"
	type events = []history.Event
	first, second := created(1, "/l/a", 1), created(2, "/l/b", 2)
	both := func(rest ...history.Event) events {
		return append(events{
			lockCall(1, 1), first, lockOK(1, 1, "/l/a"), lockCall(2, 1), second,
			lockOK(2, 1, "/l/b"),
			read(1, 1, 0), read(2, 1, 0),
		}, rest...)
	}
	znode := func(e history.Event) history.Event { e.Path = "/data"; return e }
	judge(t, history.Fencing, check.Fencing, []verdict{
		{name: "nothing"},
		{
			name: "the older writes last", reason: late, event: 9,
			events: both(wrote(2, 1, 1), wrote(1, 1, 2)),
		},
		{name: "the newer writes last", events: both(wrote(1, 1, 1), wrote(2, 1, 2))},
		{name: "the older is refused", events: both(wrote(2, 1, 1), refused(wrote(1, 1, 0)))},
		{name: "the newer was refused", events: both(refused(wrote(2, 1, 0)), wrote(1, 1, 1))},
		{name: "the same holder twice", events: both(wrote(2, 1, 1), wrote(2, 1, 2))},
		{name: "nodes count, not tokens", reason: late, event: 8, events: events{
			lockCall(1, 1), first, lockCall(2, 1), second, token(1, 1, 9), token(2, 1, 8),
			read(1, 1, 0),
			wrote(2, 1, 1), wrote(1, 1, 2),
		}},
		{name: "tokens count where there are no nodes", reason: late, event: 4, events: events{
			token(1, 1, 9), token(2, 1, 8), read(1, 1, 0), wrote(1, 1, 1), wrote(2, 1, 2),
		}},
		{name: "tokens that rise", events: events{
			token(1, 1, 8), token(2, 1, 9), read(1, 1, 0),
			wrote(1, 1, 1), wrote(2, 1, 2),
		}},
		{name: "never granted", events: events{
			token(1, 1, 8), read(1, 1, 0), wrote(1, 1, 1),
			wrote(2, 1, 2),
		}},
		{name: "granted without node or token", events: events{
			token(1, 1, 8), lockOK(2, 1, ""),
			read(1, 1, 0), wrote(1, 1, 1), wrote(2, 1, 2),
		}},
		{name: "a newer grant of the same process", events: append(both(wrote(2, 1, 1)),
			lockCall(1, 2), created(1, "/l/c", 3), lockOK(1, 2, "/l/c"), wrote(1, 2, 2))},
		{name: "a newer attempt that failed", reason: late, event: 11, events: both(wrote(2, 1, 1),
			lockCall(1, 2), lockFailed(1, 2), wrote(1, 1, 2))},
		{name: "a newer grant without node or token", events: events{
			token(1, 1, 8), token(2, 1, 9), read(2, 1, 0), wrote(2, 1, 1),
			lockOK(1, 2, ""), wrote(1, 2, 2),
		}},
		{name: "a newer grant that is not the newest", reason: late, event: 5, events: events{
			token(1, 1, 7), token(1, 2, 8), token(2, 1, 9), read(2, 1, 0),
			wrote(2, 1, 1), wrote(1, 2, 2),
		}},
		{name: "a znode is written when it changes", reason: late, event: 10, events: both(
			znode(read(2, 1, 0)), changed(2, "/data", 5), changed(1, "/data", 6))},
		{name: "a znode is not written when its write returns", events: both(
			znode(read(2, 1, 0)), changed(2, "/data", 5), znode(wrote(1, 1, 0)))},
		{name: "another znode", events: both(znode(read(2, 1, 0)), changed(2, "/data", 5),
			changed(1, "/other", 6))},
	})
}
