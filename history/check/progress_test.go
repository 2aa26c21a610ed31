package check_test

import (
	"slices"
	"testing"
	"time"

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
		{name: "on a slow link", events: []history.Event{slowLink(1), lockCall(1, 1), live}},
		{name: "on a link that becomes slow", events: []history.Event{
			lockCall(1, 1), slowLink(1), live,
		}},
		{
			name: "another is on a slow link", reason: lockStuck, event: 1,
			events: []history.Event{slowLink(2), lockCall(1, 1), live},
		},
		{
			name: "unlock on a slow link", reason: unlockStuck, event: 3,
			events: []history.Event{
				slowLink(1), lockCall(1, 1), lockOK(1, 1, ""), unlockCall(1, 1), live,
			},
		},
	})
}

// slowLink returns the fault that makes the link of a process slow.
func slowLink(process int32) history.Event {
	return history.Event{Kind: history.Fault, Name: "slow-link", Process: process}
}

// Unlock fails only for a process that can have lost the lock.
func TestUnlockFailed(t *testing.T) {
	const failed = "Unlock failed without a fault and without a loss"
	key := func(kind history.Kind, process int32, path string) history.Event {
		return history.Event{Kind: kind, Process: process, Path: path}
	}
	fault := history.Event{Kind: history.Fault, Process: 2, Name: "cut"}
	type events = []history.Event
	node, set := created(1, "/l/a", 5), key(history.KeySet, 1, "k")
	timed := lockOK(1, 1, "")
	timed.Validity = time.Second
	expiring := history.Event{Kind: history.Tick, MayEndLock: true}
	for name, test := range map[string]struct {
		before events // before c1's Lock returns
		inside events // before its Unlock returns
		fails  bool
	}{
		"nothing changed":            {nil, nil, true},
		"alone":                      {nil, nil, true},
		"after a fault":              {nil, events{fault}, false},
		"after an earlier fault":     {events{fault}, nil, false},
		"after a crash":              {nil, events{crash(2)}, false},
		"told of a loss":             {nil, events{lost(1, 1)}, false},
		"another was told of a loss": {nil, events{lost(2, 1)}, true},
		"session expired":            {nil, events{on(history.SessionExpired, 1)}, false},
		"node created":               {events{node}, nil, true},
		"node deleted by itself": {
			events{node}, events{unlockCall(1, 1), key(history.NodeDeleted, 1, "/l/a")}, true,
		},
		"node deleted before Unlock": {
			events{node}, events{lockOK(1, 1, "/l/a"), key(history.NodeDeleted, 1, "/l/a")}, false,
		},
		"node deleted by another": {events{node}, events{key(history.NodeDeleted, 2, "/l/a")}, false},
		"node of another deleted": {
			events{created(2, "/l/a", 5)}, events{key(history.NodeDeleted, 2, "/l/a")}, true,
		},
		"node written by another":    {nil, events{key(history.NodeChanged, 2, "/l")}, false},
		"node written by itself":     {nil, events{key(history.NodeChanged, 1, "/l")}, true},
		"key set":                    {events{set}, nil, true},
		"key deleted by itself":      {events{set}, events{key(history.KeyDeleted, 1, "k")}, true},
		"key deleted by another":     {events{set}, events{key(history.KeyDeleted, 2, "k")}, false},
		"key expired":                {events{set}, events{key(history.KeyExpired, 0, "k")}, false},
		"key taken over":             {events{set}, events{key(history.KeySet, 2, "k")}, false},
		"another key set by another": {events{set}, events{key(history.KeySet, 2, "q")}, true},
		"time passes":                {events{set}, events{on(history.Tick, 0)}, true},
		"slow or expiring":           {nil, events{expiring}, false},
		"validity may be over":       {nil, events{timed, on(history.Tick, 0)}, false},
	} {
		begin := events{on(history.SessionOpened, 1), lockCall(1, 1), created(1, "/l/z", 4)}
		if name == "nothing changed" {
			begin = begin[:2]
		}
		all := slices.Concat(begin, test.before, events{lockOK(1, 1, "")}, test.inside,
			events{unlockCall(1, 1), unlockFailed(1, 1)})
		want := verdict{name: name, events: all}
		if test.fails {
			want.reason, want.event = failed, len(all)-1
		}
		judge(t, history.Progress, check.Progress, []verdict{
			want,
			{name: name + ", in production", events: slices.DeleteFunc(slices.Clone(all[1:]),
				func(e history.Event) bool { return e.Kind.OfKey() })},
			{name: name + ", succeeds", events: append(slices.Clone(all[:len(all)-1]),
				unlockOK(1, 1))},
		})
	}
}
