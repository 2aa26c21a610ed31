package history_test

import (
	"testing"

	"github.com/interlock-sim/interlock/history"
)

func TestFencedExclusion(t *testing.T) {
	const late = "a write of an older holder was accepted after one of a newer holder"
	type events = []history.Event
	first, second := created(1, "/l/a", 1), created(2, "/l/b", 2)
	both := func(rest ...history.Event) events {
		return append(events{lockCall(1, 1), first, lockOK(1, 1, "/l/a"), lockCall(2, 1), second, lockOK(2, 1, "/l/b"),
			read(1, 1, 0), read(2, 1, 0)}, rest...)
	}
	znode := func(e history.Event) history.Event { e.Path = "/data"; return e }
	judge(t, history.FencedExclusion, history.CheckFencedExclusion, []verdict{
		{name: "nothing"},
		{name: "the older writes last", reason: late, event: 9, events: both(wrote(2, 1, 1), wrote(1, 1, 2))},
		{name: "the newer writes last", events: both(wrote(1, 1, 1), wrote(2, 1, 2))},
		{name: "the older is refused", events: both(wrote(2, 1, 1), refused(wrote(1, 1, 0)))},
		{name: "the newer was refused", events: both(refused(wrote(2, 1, 0)), wrote(1, 1, 1))},
		{name: "the same holder twice", events: both(wrote(2, 1, 1), wrote(2, 1, 2))},
		{name: "nodes count, not tokens", reason: late, event: 8, events: events{
			lockCall(1, 1), first, lockCall(2, 1), second, token(1, 1, 9), token(2, 1, 8), read(1, 1, 0), wrote(2, 1, 1), wrote(1, 1, 2)}},
		{name: "tokens count where there are no nodes", reason: late, event: 4, events: events{
			token(1, 1, 9), token(2, 1, 8), read(1, 1, 0), wrote(1, 1, 1), wrote(2, 1, 2)}},
		{name: "tokens that rise", events: events{token(1, 1, 8), token(2, 1, 9), read(1, 1, 0), wrote(1, 1, 1), wrote(2, 1, 2)}},
		{name: "never granted", events: events{token(1, 1, 8), read(1, 1, 0), wrote(1, 1, 1), wrote(2, 1, 2)}},
		{name: "granted without node or token", events: events{token(1, 1, 8), lockOK(2, 1, ""), read(1, 1, 0), wrote(1, 1, 1), wrote(2, 1, 2)}},
		{name: "a newer grant of the same process", events: append(both(wrote(2, 1, 1)),
			lockCall(1, 2), created(1, "/l/c", 3), lockOK(1, 2, "/l/c"), wrote(1, 2, 2))},
		{name: "a newer attempt that failed", reason: late, event: 11, events: both(wrote(2, 1, 1), lockCall(1, 2), lockFailed(1, 2), wrote(1, 1, 2))},
		{name: "a newer grant without node or token", events: events{token(1, 1, 8), token(2, 1, 9), read(2, 1, 0), wrote(2, 1, 1),
			lockOK(1, 2, ""), wrote(1, 2, 2)}},
		{name: "a newer grant that is not the newest", reason: late, event: 5, events: events{token(1, 1, 7), token(1, 2, 8), token(2, 1, 9), read(2, 1, 0),
			wrote(2, 1, 1), wrote(1, 2, 2)}},
		{name: "a znode is written when it changes", reason: late, event: 10, events: both(
			znode(read(2, 1, 0)), changed(2, "/data", 5), changed(1, "/data", 6))},
		{name: "a znode is not written when its write returns", events: both(
			znode(read(2, 1, 0)), changed(2, "/data", 5), znode(wrote(1, 1, 0)))},
		{name: "another znode", events: both(znode(read(2, 1, 0)), changed(2, "/data", 5), changed(1, "/other", 6))},
	})
}

// Who is outrun is all that decides which writes may not come any more.
func TestOutrun(t *testing.T) {
	type events = []history.Event
	both := events{lockCall(1, 1), created(1, "/l/a", 1), lockCall(2, 1), created(2, "/l/b", 2), lockOK(2, 1, "/l/b"), read(2, 1, 0)}
	granted := append(both[:len(both):len(both)], lockOK(1, 1, "/l/a"))
	gone := events{unlockCall(1, 1), deleted(1, "/l/a", 3), unlockOK(1, 1)}
	after := func(before events, more ...history.Event) events {
		return append(before[:len(before):len(before)], more...)
	}
	for _, tc := range []struct {
		name       string
		one, other events
		same       bool
	}{
		{"nobody has written", both, after(both, read(1, 1, 0)), true},
		{"a node that waits", both, after(both, wrote(2, 1, 1)), false},
		{"the newest and its own node", granted, after(granted, wrote(1, 1, 1)), true},
		{"a holder without its node", after(granted, deleted(1, "/l/a", 3), wrote(2, 1, 1)), after(granted, deleted(1, "/l/a", 3)), false},
		{"nobody is left", after(after(granted, wrote(2, 1, 1)), gone...), after(after(granted, wrote(1, 1, 1)), gone...), true},
		{"one that has begun to leave may be granted again", after(granted, wrote(2, 1, 1), unlockCall(1, 1)), after(granted, unlockCall(1, 1)), false},
		{"tokens", after(events{token(1, 1, 5), read(1, 1, 0), token(2, 1, 7)}, wrote(1, 1, 1)),
			after(events{token(1, 1, 5), read(1, 1, 0), token(2, 1, 7)}, wrote(2, 1, 1)), false},
	} {
		if same := history.Outrun(tc.one) == history.Outrun(tc.other); same != tc.same {
			t.Errorf("%s: same %v", tc.name, same)
		}
	}
}
