package check_test

import (
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

// A key that expires after an Unlock without an error breaks progress only if nothing but the
// expiry can have freed it.
func TestKeyFreedByExpiryOnly(t *testing.T) {
	const notFreed = "Unlock succeeded, but did not free the lock"
	key := func(kind history.Kind, process int32) history.Event {
		return history.Event{Kind: kind, Process: process, Path: "k"}
	}
	executed := func(process int32, writes bool) history.Event {
		return history.Event{Kind: history.Executed, Process: process, MayEndLock: writes}
	}
	command := func(process int32) history.Event { return on(history.Command, process) }
	const thread = 100_001 // the second thread of c1
	type events = []history.Event
	for name, test := range map[string]struct {
		// after the KeySet, the grant, UnlockCall and UnlockReturn
		lock, inside, unlock, after events

		fails bool
	}{
		"nothing":        {fails: true},
		"compares only":  {unlock: events{command(1), executed(1, false)}, fails: true},
		"time passes":    {after: events{{Kind: history.Tick, MayEndLock: true}}, fails: true},
		"another polls":  {after: events{command(2), executed(2, false)}, fails: true},
		"own token":      {lock: events{command(1), executed(1, true)}, fails: true},
		"renewed before": {inside: events{command(1), executed(1, true)}, fails: true},
		"another key expires": {
			after: events{{Kind: history.KeyExpired, Path: "q"}}, fails: true,
		},
		"sets the expiry":            {unlock: events{command(1), executed(1, true)}},
		"deletes it":                 {unlock: events{key(history.KeyDeleted, 1)}},
		"sets it again":              {unlock: events{key(history.KeySet, 1)}},
		"command in flight":          {unlock: events{command(1)}},
		"earlier one in flight":      {inside: events{command(1)}},
		"command after Unlock":       {after: events{command(1)}},
		"written by another":         {after: events{executed(2, true)}},
		"written by another before":  {lock: events{executed(2, true)}},
		"set by another":             {after: events{key(history.KeySet, 2)}},
		"lost":                       {inside: events{lost(1, 1)}},
		"time passes inside":         {inside: events{{Kind: history.Tick, MayEndLock: true}}},
		"time passes in Unlock":      {unlock: events{{Kind: history.Tick, MayEndLock: true}}},
		"fault":                      {inside: events{{Kind: history.Fault, Process: 2}}},
		"fault after Unlock":         {after: events{{Kind: history.Fault, Process: 2}}},
		"crash":                      {after: events{crash(1)}},
		"expires in Unlock":          {unlock: events{key(history.KeyExpired, 0)}},
		"wanted again":               {after: events{lockCall(1, 2)}},
		"wanted by a thread":         {after: events{lockCall(thread, 1)}},
		"handed to a waiting thread": {after: events{lockOK(thread, 1, "")}},
		"shared by a further thread": {inside: events{lockOK(thread, 1, "")}},
		"set again later": {
			after: events{key(history.KeyDeleted, 1), key(history.KeySet, 1)},
		},
		"same name on another server": {},
	} {
		set := events{lockCall(1, 1), command(1), executed(1, true), key(history.KeySet, 1)}
		all := slices.Concat(set, test.lock, events{lockOK(1, 1, "")}, test.inside,
			events{unlockCall(1, 1)}, test.unlock, events{unlockOK(1, 1)}, test.after)
		at := len(all) - len(test.after) - 1
		expires := key(history.KeyExpired, 0)
		if name == "same name on another server" {
			expires.Server = 2
		}
		want := verdict{name: name, events: append(all, expires)}
		if test.fails {
			want.reason, want.event = notFreed, at
		}
		failed := slices.Clone(want.events)
		failed[at].Err = "failed"
		judge(t, history.Progress, check.Progress, []verdict{want})
		if v := check.Progress(failed); v != nil && v.Reason == notFreed {
			t.Errorf("%s: %v, although Unlock failed", name, v)
		}
	}
}
