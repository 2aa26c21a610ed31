package check_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/testkit/eventtest"
)

// A mutation changes one event of a legal history so that it breaks a property. It returns nil if
// there is no event to change.
type mutation struct {
	name     string
	property history.Property
	of       func(t *rapid.T, events []history.Event) []history.Event
}

// pick draws one of the events that fit, or returns -1.
func pick(t *rapid.T, events []history.Event, fits func(i int, e history.Event) bool) int {
	var fitting []int
	for i, e := range events {
		if fits(i, e) {
			fitting = append(fitting, i)
		}
	}
	if len(fitting) == 0 {
		return -1
	}
	return rapid.SampledFrom(fitting).Draw(t, "event")
}

// of returns a condition for pick: an event of the kind, except the first one if later is set.
func of(kind history.Kind, later bool) func(int, history.Event) bool {
	first := true
	return func(_ int, e history.Event) bool {
		if e.Kind != kind {
			return false
		}
		fits := !later || !first
		first = false
		return fits
	}
}

// editing returns a mutation that edits one event of a kind.
func editing(name string, property history.Property, kind history.Kind, later bool,
	edit func(*history.Event),
) mutation {
	return mutation{name, property, func(t *rapid.T, events []history.Event) []history.Event {
		i := pick(t, events, of(kind, later))
		if i < 0 {
			return nil
		}
		changed := slices.Clone(events)
		edit(&changed[i])
		return changed
	}}
}

// dropping returns a mutation that removes one event of a kind, and duplicating one that repeats
// it.
func dropping(name string, property history.Property, kind history.Kind) mutation {
	return mutation{name, property, func(t *rapid.T, events []history.Event) []history.Event {
		i := pick(t, events, of(kind, false))
		if i < 0 {
			return nil
		}
		return slices.Delete(slices.Clone(events), i, i+1)
	}}
}

func duplicating(name string, property history.Property, kind history.Kind) mutation {
	return mutation{name, property, func(t *rapid.T, events []history.Event) []history.Event {
		i := pick(t, events, of(kind, false))
		if i < 0 {
			return nil
		}
		return slices.Insert(slices.Clone(events), i, events[i])
	}}
}

// inserting returns a mutation that inserts events after one of a kind.
func inserting(name string, property history.Property, kind history.Kind,
	what func(history.Event) []history.Event,
) mutation {
	return mutation{name, property, func(t *rapid.T, events []history.Event) []history.Event {
		i := pick(t, events, of(kind, false))
		if i < 0 {
			return nil
		}
		return slices.Insert(slices.Clone(events), i+1, what(events[i])...)
	}}
}

var mutations = []mutation{
	editing("a token is that of the first grant", history.MonotonicToken, history.LockReturn, true,
		func(e *history.Event) { e.Zxid = 1 }),
	editing("a write rests on nothing", history.NoLostUpdate, history.ResourceRead, true,
		func(e *history.Event) { e.Zxid = 0 }),
	editing("a grant fails", history.NoSpuriousFailure, history.LockReturn, false,
		func(e *history.Event) { e.Err = "no" }),
	dropping("an event of a watch is not delivered", history.NoLostWatch, history.WatchEvent),
	dropping("a watch does not fire", history.NoLostWatch, history.WatchFired),
	duplicating("a watch fires twice", history.NoLostWatch, history.WatchFired),
	duplicating("an event of a watch is delivered twice", history.NoLostWatch, history.WatchEvent),
	dropping("Unlock does not return", history.Progress, history.UnlockReturn),
	dropping("Lock does not return", history.Progress, history.LockReturn),
	inserting("another enters", history.ClientMutualExclusion, history.Enter,
		func(e history.Event) []history.Event {
			return []history.Event{enter(e.Process+1, 1)}
		}),
	inserting("another is granted the same node", history.ServerMutualExclusion, history.Enter,
		func(e history.Event) []history.Event {
			return []history.Event{
				lockCall(9, 1), created(9, "/lock/x", 1_000_000),
				lockOK(9, 1, ""),
			}
		}),
	inserting("another has the lock too", history.Linearizable, history.Enter,
		func(e history.Event) []history.Event {
			return []history.Event{
				lockCall(9, 1), lockOK(9, 1, ""), unlockCall(9, 1),
				unlockOK(9, 1),
			}
		}),
	inserting("one that came before another waits still", history.FIFO, history.LockCall,
		func(e history.Event) []history.Event {
			return []history.Event{lockCall(9, 1), created(9, "/lock/x", -1)}
		}),
	inserting("the deletion of the holder's node goes unnoticed", history.LossNotification,
		history.LockReturn,
		func(e history.Event) []history.Event {
			return []history.Event{deleted(8, fmt.Sprintf("/lock/%d-%d", e.Process, e.Attempt), 0)}
		}),
	inserting("the holder hears that its session is over, and stays", history.SessionLoss,
		history.Enter, func(e history.Event) []history.Event {
			return []history.Event{
				sessionOver(e.Process, fmt.Sprintf("/lock/%d-%d", e.Process, e.Attempt)),
				on(history.Tick, 0),
			}
		}),
	inserting("the holder gives the lock back too soon", history.Reentrancy, history.LockReturn,
		func(e history.Event) []history.Event {
			return []history.Event{deleted(e.Process, fmt.Sprintf("/lock/%d-%d", e.Process,
				e.Attempt), 0)}
		}),
	inserting("a node is left", history.NoLeakedNodes, history.UnlockReturn,
		func(e history.Event) []history.Event {
			return []history.Event{{
				Kind: history.NodeCreated, Process: e.Process, Path: "/lock/x",
				Session: 77,
			}}
		}),
	inserting("an older holder writes", history.Fencing, history.ResourceWrite,
		func(e history.Event) []history.Event {
			return []history.Event{token(9, 1, 0), {
				Kind: history.LockReturn, Process: 9, Attempt: 2,
				Zxid: -5,
			}, wrote(9, 2, e.Zxid)}
		}),
	inserting("a process asks without end", history.NoLivelock, history.FairPhase,
		func(history.Event) []history.Event {
			return slices.Repeat([]history.Event{on(history.Send, 9)}, 31)
		}),
	inserting("a process is overtaken", history.NoStarvation, history.FairPhase,
		func(history.Event) []history.Event {
			return []history.Event{
				lockCall(8, 1), created(8, "/m/x", 1), lockCall(9, 1),
				lockOK(9, 1, ""),
			}
		}),
	inserting("a process deletes the key of another", history.OwnRelease, history.Enter,
		func(e history.Event) []history.Event {
			return []history.Event{
				on(history.KeySet, e.Process), on(history.KeyDeleted, e.Process+1),
			}
		}),
	inserting("another is granted the lock too soon", history.Validity, history.Enter,
		func(e history.Event) []history.Event {
			return []history.Event{{
				Kind: history.LockReturn, Process: e.Process, At: e.At, Validity: 1,
			}, {Kind: history.LockReturn, Process: 9, At: e.At}}
		}),
	inserting("a lock is extended that another has been granted", history.Extension, history.Enter,
		func(e history.Event) []history.Event {
			extended := history.Event{Kind: history.Extended, Process: e.Process, Validity: 1}
			return []history.Event{lockOK(9, 1, ""), extended}
		}),
	inserting("a cancelled attempt asks for a node", history.Promptness, history.FairPhase,
		func(history.Event) []history.Event {
			return []history.Event{lockCall(9, 1), cancelled(9), {
				Kind: history.Send, Process: 9, Op: "create", Path: "/m/x",
			}}
		}),
	inserting("a process passes that has not called", history.NoEarlyPass, history.FairPhase,
		func(history.Event) []history.Event { return []history.Event{lockOK(9, 1, "")} }),
	inserting("a process sees a leader that nobody elected", history.OneLeaderPerTerm,
		history.FairPhase, func(history.Event) []history.Event {
			return []history.Event{observed(9, 8, "/m/x", 1)}
		}),
	inserting("a process sees an older term", history.TermsInOrder, history.FairPhase,
		func(history.Event) []history.Event {
			return []history.Event{observed(9, 8, "/m/x", 2), observed(9, 8, "/m/x", 1)}
		}),
	inserting("a process that has never called the lock goes on", history.Quiescence,
		history.FairPhase, func(history.Event) []history.Event {
			return slices.Repeat([]history.Event{on(history.Send, 9)},
				history.QuiescenceRequests+1)
		}),
	inserting("a holder is never told that its session has ended", history.Margin,
		history.FairPhase, func(history.Event) []history.Event {
			return []history.Event{
				{Kind: history.SessionOpened, Process: 9, Session: 9},
				lockOK(9, 1, ""),
				{Kind: history.SessionExpired, Process: 9, Session: 9},
				{Kind: history.UnlockCall, Process: 9, At: 1},
			}
		}),
	inserting("an acquire is expensive", history.NoHerd, history.FairPhase,
		func(history.Event) []history.Event {
			sends := slices.Repeat([]history.Event{on(history.Send, 9)}, 9)
			return slices.Concat([]history.Event{lockCall(9, 1)}, sends,
				[]history.Event{lockOK(9, 1, "")})
		}),
}

// TestMutatedHistories changes one event of a legal history so that it breaks a property, which
// must be found.
func TestMutatedHistories(t *testing.T) {
	var c check.Checker
	rapid.Check(t, func(t *rapid.T) {
		fair := eventtest.PlayFairLock(t, false)
		fair.Finish()
		change := rapid.SampledFrom(mutations).Draw(t, "change")
		events := change.of(t, fair.Events)
		if events == nil {
			return
		}
		if v := c.Check(change.property, events); v == nil {
			t.Fatalf("%s: %s holds in\n%v", change.name, change.property, events)
		}
	})
	for _, p := range check.Properties() {
		if !slices.ContainsFunc(mutations, func(c mutation) bool { return c.property == p }) {
			t.Errorf("no mutation breaks %s", p)
		}
	}
}
